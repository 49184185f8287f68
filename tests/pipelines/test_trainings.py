"""Trainings of a stage: how many were finished before it."""

from pathlib import Path

import pytest

from contexture.config import ComputeConfig
from contexture.folders import is_finished, work_folder
from contexture.pipelines.trainings import Training, train_all
from contexture.training.fleet import Job


def train(folder: Path, is_interrupted: bool = False) -> bool:
    """Train into a folder, if it is not finished."""
    if is_finished(folder, {"seed": 0}):
        return False
    with work_folder(folder, {"seed": 0}) as work:
        (work / "weights").touch()
        if is_interrupted:
            raise RuntimeError
    return True


def train_in(folders: list[Path]) -> None:
    trainings = [Training(Job(folder.name, train, (folder,)), folder, {}, {}) for folder in folders]
    train_all(trainings, ComputeConfig(processes=1, threads=1), "training")


def test_resumed_trainings_are_not_among_those_that_were_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / name for name in ("finished", "begun", "new")]
    train(folders[0])
    with pytest.raises(RuntimeError):
        train(folders[1], is_interrupted=True)
    train_in(folders)
    assert "training: 1 of 3 were there, made with the same settings, and are kept" in capsys.readouterr().out
    train_in(folders)
    assert "3 of 3 were there" in capsys.readouterr().out
