"""Start, kill and compare runs in tests."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from contexture.streams.base import MixedBatches
from contexture.systems.config import SystemConfig
from contexture.systems.launch import pretrain_arguments, training_files
from contexture.training import checkpoints
from contexture.training.launcher import launch_pretraining


class Killed(BaseException):
    """Raised instead of killing a run."""


def launch(
    config: SystemConfig,
    run: str,
    examples: Path,
    vocabulary: Path,
    folder: Path,
    seed: int = 0,
    start: Path | None = None,
) -> bool:
    """Pre-train into `folder` and return False if a finished run was kept."""
    file = folder.with_name(f"{folder.name}.json")
    file.write_text(json.dumps(config.to_dict()))
    arguments = pretrain_arguments(file, run, seed, examples, vocabulary, start)
    files = training_files(config, examples, vocabulary, start)
    return launch_pretraining(config.pretraining(run), seed, files, folder, arguments)


def train(*arguments: Any, **options: Any) -> dict[str, torch.Tensor]:
    """Pre-train as `launch` and return the weights."""
    launch(*arguments, **options)
    return weights(arguments[4])


@dataclass(frozen=True)
class Training:
    """Trains runs on the examples of all streams, each into a folder with its name."""

    examples: Path
    vocabulary: Path
    folder: Path

    @property
    def arguments(self) -> list[str]:
        return ["--examples", str(self.examples), "--vocabulary", str(self.vocabulary)]

    def launch(self, config: SystemConfig, run: str, name: str | None = None, **options: Any) -> bool:
        """Pre-train into the folder `name` (default: the run) and return False if a finished run was kept."""
        return launch(config, run, self.examples, self.vocabulary, self.folder / (name or run), **options)

    def train(self, config: SystemConfig, run: str, name: str | None = None, **options: Any) -> dict[str, torch.Tensor]:
        """Pre-train as `launch` and return the weights."""
        self.launch(config, run, name, **options)
        return weights(self.folder / (name or run))

    def kill(self, config: SystemConfig, run: str, name: str, step: int, part: int = 0) -> None:
        """Start a run and kill it at a step and pass."""
        with pytest.MonkeyPatch.context() as patch:
            kill_at(step, patch, part=part)
            with pytest.raises(Killed):
                self.launch(config, run, name)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return `<file>:<name>` → tensor of all weights of a run, without those of its checkpoint."""
    files = sorted(file for file in folder.rglob("*.safetensors") if file.parent.name != checkpoints.CHECKPOINT_DIR)
    return {f"{file.relative_to(folder)}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


def read_files(folder: Path) -> dict[str, bytes]:
    """Return relative path → content of all files of a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def assert_same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor], **tolerance: Any) -> None:
    assert first.keys() == second.keys()
    for name in first:
        torch.testing.assert_close(first[name], second[name], **(tolerance or {"atol": 0, "rtol": 0}))


def are_different(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return any(not torch.equal(first[name], second[name]) for name in first)


def kill_at(step: int, monkeypatch: pytest.MonkeyPatch, error: type[BaseException] = Killed, part: int = 0) -> None:
    """Let later runs raise `error` when they read the batch of a step and pass."""
    read = MixedBatches.__getitem__

    def read_or_die(self: MixedBatches, index: int) -> Any:
        if index < len(self) and self.steps[index // self.passes] == step and index % self.passes == part:
            raise error
        return read(self, index)

    monkeypatch.setattr(MixedBatches, "__getitem__", read_or_die)


def list_commands(folder: Path) -> list[str]:
    """List the command lines of processes that contain the path of a folder."""
    commands = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # the process has ended
            continue
        if str(folder) in command:
            commands.append(command)
    return commands


def wait_until(holds: Callable[[], bool], seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.2)
