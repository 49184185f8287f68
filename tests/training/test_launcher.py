"""Folders of runs: kept where nothing changed, replaced by whole ones alone."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contexture.folders import UNFINISHED
from contexture.systems.launch import training_files
from contexture.training import launcher
from contexture.training.launcher import identity_of, launch_pretraining
from tests.training import toys
from tests.training.runs import Killed, Training, assert_same, contents, killed_at, launch, running, wait_until, weights
from tests.training.toys import schedule, two_towers

RUNS = {"run": schedule(3, in_batch_negatives=1), "none": {"schedule": []}}


def times(folder: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def finished(training: Training) -> Path:
    """A run that is done."""
    assert training.launch(two_towers(runs=RUNS), "run")
    return training.folder / "run"


def test_a_finished_run_is_kept(finished: Path, examples: Path, tokenizer: Path) -> None:
    """Even if another run changed, whose settings do not matter."""
    old = times(finished)
    assert not launch(two_towers(runs=RUNS), "run", examples, tokenizer, finished)
    config = two_towers(runs=RUNS | {"none": schedule(2, mlm=1), "more": schedule(9, mlm=1)})
    assert not launch(config, "run", examples, tokenizer, finished)
    assert times(finished) == old
    assert not list(finished.parent.glob(f"*{UNFINISHED}"))


#: Settings of the system that change what the run depends on.
CHANGES: dict[str, dict[str, Any]] = {
    "steps": {"runs": RUNS | {"run": schedule(4, in_batch_negatives=1)}},
    "optimizer": {"runs": RUNS, "optimizer": toys.OPTIMIZER | {"warmup_steps": 0}},
    "stream": {"runs": RUNS | {"run": RUNS["run"] | {"streams": {"pairs": {"mixture": "pooled"}}}}},
}


@pytest.mark.parametrize("change", [*CHANGES, "seed", "encoder", "examples", "vocabulary"])
def test_what_a_run_depends_on_makes_it_train_anew(
    change: str, finished: Path, examples: Path, tokenizer: Path, tmp_path: Path
) -> None:
    config, old = two_towers(**CHANGES.get(change, {"runs": RUNS})), contents(finished)
    if change == "encoder":
        smaller: Any = replace(config.encoders["transformer"], embedding_size=4)  # type: ignore[call-arg]
        config = replace(config, encoders=config.encoders | {"transformer": smaller})
    elif change == "examples":
        examples = Path(shutil.copytree(examples, tmp_path / "more"))
        shutil.copy(examples / "pairs/ict/part-0.parquet", examples / "pairs/ict/part-2.parquet")
    elif change == "vocabulary":
        tokenizer = toys.write_tokenizer(tmp_path / "other")
        (tokenizer / "note.txt").write_text("another one")
    arguments = config, "run", examples, tokenizer, finished, int(change == "seed")
    assert launch(*arguments)
    assert contents(finished) != old
    assert not launch(*arguments)
    assert not [path for path in finished.parent.iterdir() if path.name.startswith("run.") and path.is_dir()]


def test_the_old_encoder_stays_until_the_new_one_is_whole(
    finished: Path, monkeypatch: pytest.MonkeyPatch, training: Training
) -> None:
    old, config = contents(finished), two_towers(runs=RUNS | {"run": schedule(5, in_batch_negatives=1)})
    with monkeypatch.context() as patch:
        killed_at(3, patch)
        with pytest.raises(Killed):
            launch(config, "run", training.examples, training.vocabulary, finished)
    assert contents(finished) == old
    # What was begun is resumed; then it takes the place of the old one.
    assert launch(config, "run", training.examples, training.vocabulary, finished)
    training.launch(config, "run", "alone")
    assert_same(weights(finished), weights(training.folder / "alone"))


def test_a_run_that_starts_from_another_encoder_is_another(training: Training) -> None:
    config = two_towers(runs={"base": {"schedule": []}, "run": schedule(1, in_batch_negatives=1) | {"start": "base"}})
    for seed in (0, 1):
        training.launch(config, "base", f"base-{seed}", seed=seed)
    assert training.launch(config, "run", start=training.folder / "base-0")
    assert not training.launch(config, "run", start=training.folder / "base-0")
    assert training.launch(config, "run", start=training.folder / "base-1")


def test_streams_that_a_run_does_not_read_need_no_examples(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    """But belong to what it is: the tables of an encoder have room for all of them."""
    config = toys.mixed({"run": schedule(1, in_batch_negatives=1)})
    (tmp_path / "pairs").symlink_to(examples / "pairs")
    files = training_files(config, tmp_path, tokenizer, None)
    assert set(files.examples) == {stream.examples for stream in config.streams.values()} > {"pairs"}
    identity = identity_of(config.pretraining("run"), 0, files)
    assert set(identity["examples"]) == {"pairs"} and identity["examples"]["pairs"]["rows"] == 74
    assert set(identity["streams"]) == set(toys.STREAMS)
    assert launch(config, "run", tmp_path, tokenizer, tmp_path / "run")


def test_several_devices_need_the_entry_point(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    config = two_towers(runs=RUNS, devices=2)
    with pytest.raises(ValueError, match=r"several devices"):
        launch_pretraining(
            config.pretraining("run"), 0, training_files(config, examples, tokenizer, None), tmp_path / "run"
        )


def test_a_group_of_processes_is_ended(tmp_path: Path) -> None:
    """Though they do not end by themselves, as when a rank waits for another that is gone."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60) # {tmp_path}'])"
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    wait_until(lambda: len(running(tmp_path)) == 2)
    launcher.end_group(process)
    assert process.poll() is not None
    wait_until(lambda: not running(tmp_path), seconds=10)  # a signal is not waited for by who sent it
