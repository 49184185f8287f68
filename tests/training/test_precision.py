"""One precision for all devices of a run, found with the arithmetic that training has."""

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


class Watched:
    """A stream that notes by which arithmetic it is encoded."""

    def __init__(self) -> None:
        self.seen = list[tuple[str, bool]]()

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        self.seen.append((torch.get_float32_matmul_precision(), torch.is_autocast_enabled("cpu")))
        return batch["numbers"] @ encoder.document.words.weight.T


@pytest.fixture
def module() -> ScheduledObjectives:
    encoder = build(BagOfWordsConfig(kind="bag_of_words", embedding_size=4))
    return ScheduledObjectives(encoder, {}, {"one": Watched()}, {}, lambda _: {}, 1, OptimizerConfig(1e-3), 0)


def seen_by(module: ScheduledObjectives) -> list[tuple[str, bool]]:
    stream = module.streams["one"]
    assert isinstance(stream, Watched)
    return stream.seen


BATCH = {"one": {"numbers": torch.ones(2, 4)}}


@pytest.fixture(autouse=True)
def exact_products() -> Iterator[None]:
    previous = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(previous)


def test_what_is_timed_is_what_training_does(module: ScheduledObjectives, tmp_path: Path) -> None:
    """float32 is timed with TF32, which training has where the device does."""
    assert choose_precision("auto", module, BATCH, tmp_path) in ("32-true", "bf16-mixed")
    assert {arithmetic for arithmetic, _ in seen_by(module)} == {"high"}
    assert {rounded for _, rounded in seen_by(module)} == {False, True}
    assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.parametrize("choice", ["32-true", "bf16-mixed"])
def test_other_ranks_use_the_choice_of_the_first(choice: str, module: ScheduledObjectives, tmp_path: Path) -> None:
    """They wait for it and measure nothing; nor does the first one when a run is resumed."""
    with ThreadPoolExecutor() as pool:
        waiting = [pool.submit(choose_precision, "auto", module, BATCH, tmp_path, rank) for rank in (1, 2)]
        assert not any(rank.done() for rank in waiting)
        (tmp_path / "new").write_text(json.dumps(choice))
        (tmp_path / "new").rename(tmp_path / PRECISION_FILE)
        assert [rank.result() for rank in waiting] == [choice] * 2
    assert choose_precision("auto", module, BATCH, tmp_path) == choice
    assert seen_by(module) == []


@pytest.mark.parametrize(("wanted", "named"), [("fp32", "32-true"), ("bf16", "bf16-mixed")])
def test_a_configured_precision_is_not_measured(
    wanted: Any, named: str, module: ScheduledObjectives, tmp_path: Path
) -> None:
    assert choose_precision(wanted, module, BATCH, tmp_path) == named
    assert seen_by(module) == [] and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_two_processes_train_with_one_precision(training: Training) -> None:
    config = system(runs={"mspp": schedule(2, mspp=1)}, devices=2, precision="auto")
    training.launch(config, "mspp", "run")
    assert json.loads((training.folder / "run" / PRECISION_FILE).read_text()) in ("32-true", "bf16-mixed")
