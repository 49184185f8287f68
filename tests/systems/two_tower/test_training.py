"""Training of two towers: exact resumption, several processes, memory settings."""

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from contexture.encoders.files import load_encoder
from contexture.folders import SET_ASIDE, UNFINISHED
from contexture.training import checkpoints
from contexture.training.curves import read_curves
from tests.systems.resume import kill
from tests.training.runs import Killed, are_different, assert_same, kill_at, list_commands, read_files, train
from tests.training.toys import STEADY, two_towers, write_pairs


@pytest.mark.parametrize(
    ("run", "recompute", "steps"),
    [
        ("shared", False, range(1, 6)),
        ("separate", True, [3]),
        pytest.param("shared", True, [3], marks=pytest.mark.slow),
        pytest.param("bag", False, [4], marks=pytest.mark.slow),
        pytest.param("mlm", False, [3], marks=pytest.mark.slow),
    ],
)
def test_killed_run_resumes_exactly(
    run: str,
    recompute: bool,
    steps: Iterable[int],
    examples: Path,
    tokenizer: Path,
    tmp_path: Path,
) -> None:
    """With dropout; checkpoints are written every second step, later steps are repeated."""
    config = two_towers(recompute=recompute)
    expected = train(config, run, examples, tokenizer, tmp_path / "whole")
    for step in steps:
        folder = tmp_path / f"killed-{step}"
        kill(partial(train, config, run, examples, tokenizer, folder), step)
        assert not folder.exists()
        assert (folder.with_name(folder.name + UNFINISHED) / checkpoints.CHECKPOINT_DIR).exists() == (step >= 2)
        assert_same(train(config, run, examples, tokenizer, folder), expected)
        assert read_curves(folder)["step"].tolist() == list(range(1, 7))


def test_repeatedly_killed_run_resumes_exactly(
    examples: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by Ctrl-C, for which Lightning exits the process."""
    for step, error in ((1, Killed), (3, KeyboardInterrupt), (5, Killed)):
        with monkeypatch.context() as patch:
            kill_at(step, patch, error)
            with pytest.raises(SystemExit if error is KeyboardInterrupt else error):
                train(two_towers(), "shared", examples, tokenizer, tmp_path / "killed")
    whole = train(two_towers(), "shared", examples, tokenizer, tmp_path / "whole")
    assert_same(train(two_towers(), "shared", examples, tokenizer, tmp_path / "killed"), whole)


@pytest.mark.parametrize("name", ["query", "document"])
def test_checkpoint_stores_shared_weights_once(
    name: str, unfinished_dir: Path, examples: Path, tokenizer: Path, tmp_path: Path
) -> None:
    """The stored tower depends on hashes of the process that wrote the checkpoint."""
    file = unfinished_dir / checkpoints.CHECKPOINT_DIR / "model.safetensors"
    tensors = load_file(file)
    renamed = {
        re.sub(r"^encoder\.(query|document)\.", f"encoder.{name}.", key): tensor for key, tensor in tensors.items()
    }
    assert len(renamed) == len(tensors)
    save_file(renamed, file)
    whole = train(two_towers(), "shared", examples, tokenizer, tmp_path / "whole")
    assert_same(train(two_towers(), "shared", examples, tokenizer, tmp_path / "run"), whole)


@pytest.fixture
def unfinished_dir(examples: Path, tokenizer: Path, tmp_path: Path) -> Path:
    """Return the folder of a run that was killed after its fourth step."""
    kill(lambda: train(two_towers(), "shared", examples, tokenizer, tmp_path / "run"), 4)
    return tmp_path / f"run{UNFINISHED}"


def test_changed_settings_restart_a_run(
    unfinished_dir: Path, examples: Path, tokenizer: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unfinished_contents = read_files(unfinished_dir)

    def train_with(config: Any, examples: Path = examples, seed: int = 0) -> str:
        """Train with other settings, restore the unfinished run, and return the warning."""
        caplog.clear()
        train(config, "shared", examples, tokenizer, tmp_path / "run", seed=seed)
        shutil.rmtree(tmp_path / "run")
        aside = tmp_path / f"run{SET_ASIDE}"
        assert read_files(aside) == unfinished_contents
        aside.rename(unfinished_dir)
        [message] = [record.getMessage() for record in caplog.records if "set aside" in record.getMessage()]
        return message

    config = two_towers()
    small: Any = replace(config.encoders["transformer"], embedding_size=4)  # type: ignore[call-arg]
    changed_configs = {
        "settings.batch_size: was 12, is 10": two_towers(batch_size=10),
        "settings.recompute: was false, is true": two_towers(recompute=True),
        "encoder.embedding_size: was 8, is 4": replace(config, encoders=config.encoders | {"transformer": small}),
        "lengths.query: was 12, is 10": replace(config, lengths=replace(config.lengths, query=10)),
    }
    for difference, changed in changed_configs.items():
        message = train_with(changed)
        assert f"run starts anew; what was begun with other settings ({difference}) is set aside as" in message
    assert "(seed: was 0, is 1)" in train_with(config, seed=1)
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "ict").symlink_to(examples / "pairs" / "ict")
    for task in ("bfs", "wlp"):
        write_pairs([], tmp_path / "pairs" / task)
    message = train_with(config, tmp_path)
    assert re.search(r"\(examples\.pairs\.bytes: was \d+, is \d+; examples\.pairs\.rows: was 74, ", message)


@pytest.mark.parametrize("file", ["model.safetensors", "state.pt"])
@pytest.mark.parametrize("size", [0, 100, -1])
def test_truncated_checkpoint_is_an_error_and_kept(
    file: str, size: int, unfinished_dir: Path, examples: Path, tokenizer: Path, tmp_path: Path
) -> None:
    damaged = unfinished_dir / checkpoints.CHECKPOINT_DIR / file
    damaged.write_bytes(damaged.read_bytes()[:size])
    unfinished_contents = read_files(unfinished_dir)
    with pytest.raises(ValueError, match=r"run\.unfinished/checkpoint is damaged .*delete it to restart this run"):
        train(two_towers(), "shared", examples, tokenizer, tmp_path / "run")
    assert read_files(unfinished_dir) == unfinished_contents
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("run", ["shared", "separate", "bag", "none"])
def test_the_same_seed_gives_the_same_weights(run: str, examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    first, again, other = (
        train(two_towers(), run, examples, tokenizer, tmp_path / name, seed)
        for name, seed in (("1", 0), ("2", 0), ("3", 1))
    )
    assert_same(first, again)
    assert are_different(first, other)


@pytest.mark.parametrize("run", ["shared", "separate"])
@pytest.mark.slow
def test_weights_do_not_depend_on_memory_settings(run: str, examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    """Recomputed activations give the same weights with dropout, other chunks without dropout."""
    for dropout, first, second in (
        (0.1, {"recompute": False}, {"recompute": True}),
        (0.0, {"tokens_at_once": 10_000}, {"tokens_at_once": 1, "recompute": True}),
    ):
        first_weights, second_weights = (
            train(
                two_towers(dropout, optimizer=STEADY, **changed),
                run,
                examples,
                tokenizer,
                tmp_path / f"{dropout}-{number}",
            )
            for number, changed in enumerate((first, second))
        )
        assert_same(first_weights, second_weights, atol=1e-5, rtol=1e-4)


def test_loader_workers_do_not_change_weights(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    expected = train(two_towers(), "shared", examples, tokenizer, tmp_path / "0")
    assert_same(train(two_towers(loader_workers=2), "shared", examples, tokenizer, tmp_path / "2"), expected)


def all_differ(first_tower: nn.Module, second_tower: nn.Module) -> bool:
    """Whether all weight matrices of two towers differ."""
    pairs = zip(first_tower.parameters(), second_tower.parameters(), strict=True)
    return all(not torch.equal(first, second) for first, second in pairs if first.ndim > 1)


def test_shared_and_separate_towers(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    for run in ("shared", "separate"):
        train(two_towers(), run, examples, tokenizer, tmp_path / run)
    shared, separate = load_encoder(tmp_path / "shared"), load_encoder(tmp_path / "separate")
    assert shared.query is shared.document
    assert all_differ(separate.query, separate.document)


def test_towers_train_in_bf16(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    for precision in ("bf16", "auto"):
        tensors = train(two_towers(precision=precision), "shared", examples, tokenizer, tmp_path / precision)
        assert all(tensor.dtype == torch.float32 and torch.isfinite(tensor).all() for tensor in tensors.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "recompute"), [("shared", False), ("shared", True), ("separate", False), ("bag", True)]
)
def test_two_processes_equal_one(run: str, recompute: bool, examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    """With texts of different lengths, duplicate documents, and all negatives of the batch."""
    single, double = (
        train(
            two_towers(0.0, optimizer=STEADY, recompute=recompute, devices=devices),
            run,
            examples,
            tokenizer,
            tmp_path / f"{devices}",
        )
        for devices in (1, 2)
    )
    assert_same(single, double, atol=1e-5, rtol=1e-4)


#: Python runs this file at start if it is on the path. The second process fails at the third step.
FAILING = """
import os
import signal

if os.environ.get("RANK") == "1":
    from contexture.streams.base import MixedBatches

    read = MixedBatches.__getitem__

    def fail(self, index):
        if self.steps[index] == 2:
            {failure}
        return read(self, index)

    MixedBatches.__getitem__ = fail
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failure", "message"),
    [("raise OSError('the disk is gone')", "the disk is gone"), ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL")],
)
def test_failure_of_one_process_ends_the_run(
    failure: str,
    message: str,
    examples: Path,
    tokenizer: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    config = two_towers(0.0, devices=2)
    (tmp_path / "failing").mkdir()
    (tmp_path / "failing" / "sitecustomize.py").write_text(FAILING.format(failure=failure))
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path / "failing"))
        with pytest.raises(RuntimeError, match=r"training on 2 devices ended with code .*see the error above"):
            train(config, "shared", examples, tokenizer, tmp_path / "run")
    assert message in capfd.readouterr().err
    assert not list_commands(tmp_path)
    assert not (tmp_path / "run").exists()
    # The checkpoint before the failure is kept.
    assert (tmp_path / f"run{UNFINISHED}" / checkpoints.CHECKPOINT_DIR).exists()
    expected = train(config, "shared", examples, tokenizer, tmp_path / "whole")
    assert_same(train(config, "shared", examples, tokenizer, tmp_path / "run"), expected)


def test_run_without_pairs_is_not_trained(tokenizer: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "pairs").mkdir()
    for task in ("ict", "bfs", "wlp"):
        write_pairs([], tmp_path / "pairs" / task)
    train(two_towers(), "shared", tmp_path, tokenizer, tmp_path / "run")
    assert "shared is not trained" in caplog.text
    assert load_encoder(tmp_path / "run").config == two_towers().encoders["transformer"]
