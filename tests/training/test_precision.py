"""The choice of a precision: one for all devices, measured with the arithmetic of training."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.config import BagOfWordsConfig
from contexture.training.config import OptimizerConfig
from contexture.training.module import ScheduledObjectives
from contexture.training.precision import PRECISION_FILE, choose_precision
from tests.encoders.toys import build
from tests.training.runs import Training
from tests.training.toys import schedule, system


class RecordingStream:
    """A stream that records the arithmetic with which it is encoded."""

    def __init__(self) -> None:
        self.modes = list[tuple[str, bool]]()

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        self.modes.append((torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu")))
        return batch["numbers"] @ encoder.document.words.weight.T


@pytest.fixture
def module() -> ScheduledObjectives:
    encoder = build(BagOfWordsConfig(kind="bag_of_words", embedding_size=4))
    return ScheduledObjectives(encoder, {}, {"one": RecordingStream()}, {}, lambda _: {}, 1, OptimizerConfig(1e-3), 0)


def read_modes(module: ScheduledObjectives) -> list[tuple[str, bool]]:
    stream = module.streams["one"]
    assert isinstance(stream, RecordingStream)
    return stream.modes


BATCH = {"one": {"numbers": torch.ones(2, 4)}}


@pytest.fixture(autouse=True)
def exact_products() -> Iterator[None]:
    previous = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(previous)


def test_both_precisions_are_timed_as_in_training(module: ScheduledObjectives, tmp_path: Path) -> None:
    """float32 is timed with TF32, as in training."""
    assert choose_precision("auto", module, BATCH, tmp_path) in ("32-true", "bf16-mixed")
    assert {arithmetic for arithmetic, _ in read_modes(module)} == {"high"}
    assert {rounded for _, rounded in read_modes(module)} == {False, True}
    assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.parametrize("choice", ["32-true", "bf16-mixed"])
def test_other_ranks_use_the_choice_of_the_first(choice: str, module: ScheduledObjectives, tmp_path: Path) -> None:
    """They wait for it without measuring; a resumed run does not measure again."""
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(choose_precision, "auto", module, BATCH, tmp_path, rank) for rank in (1, 2)]
        assert not any(rank.done() for rank in waiting)
        (tmp_path / "new").write_text(json.dumps(choice))
        (tmp_path / "new").rename(tmp_path / PRECISION_FILE)
        assert [rank.result() for rank in waiting] == [choice] * 2
    assert choose_precision("auto", module, BATCH, tmp_path) == choice
    assert read_modes(module) == []


@pytest.mark.parametrize(("wanted", "named"), [("fp32", "32-true"), ("bf16", "bf16-mixed")])
def test_a_configured_precision_is_not_measured(
    wanted: Any, named: str, module: ScheduledObjectives, tmp_path: Path
) -> None:
    assert choose_precision(wanted, module, BATCH, tmp_path) == named
    assert read_modes(module) == [] and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_two_processes_train_with_one_precision(training: Training) -> None:
    config = system(runs={"mspp": schedule(2, mspp=1)}, devices=2, precision="auto")
    training.launch(config, "mspp", "run")
    assert json.loads((training.folder / "run" / PRECISION_FILE).read_text()) in ("32-true", "bf16-mixed")
