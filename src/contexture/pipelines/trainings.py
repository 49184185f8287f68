"""Trainings of a node: side by side, shown, and each a child run of MLflow's."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from contexture.config import ComputeConfig
from contexture.folders import IDENTITY
from contexture.pipelines.hooks.console import say
from contexture.pipelines.tracking import child_run
from contexture.progress import DelayedBar, progress
from contexture.systems.config import SystemConfig
from contexture.tasks.base import ParallelMap
from contexture.training.fleet import Job, run_jobs

#: What the drivers of GPUs show. Without any, torch need not be asked: a run begins three seconds earlier.
_DRIVERS = ("nvidiactl", "kfd", "dxg")


@dataclass(frozen=True)
class Training:
    """A job that trains, the folder that it makes, and the tags and settings of its run."""

    job: Job
    folder: Path
    tags: dict[str, str]
    settings: dict[str, Any]


def train_all(trainings: Sequence[Training], compute: ComputeConfig, what: str) -> None:
    """Do all of them."""
    if not trainings:
        return
    by_name = {training.job.name: training for training in trainings}

    @contextmanager
    def around(job: Job) -> Iterator[None]:
        found = by_name[job.name]
        with child_run(job.name, found.tags, found.settings, found.folder):
            yield

    began = time.time()
    with progress(len(trainings), what, "run") as bar:
        run_jobs([training.job for training in trainings], *shares(compute), around, lambda done: _show(bar, done))
    markers = [training.folder / IDENTITY for training in trainings]
    if kept := sum(marker.exists() and marker.stat().st_mtime < began for marker in markers):
        say(
            f"        {what}: {kept} of {len(trainings)} were there, made with the same settings, and are kept",
            sys.stdout,
        )


def parallel_map(compute: ComputeConfig, what: str) -> ParallelMap:
    """The way to do a function of many things as trainings are done, with a bar."""

    def parallel_map(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        jobs = [Job(str(number), function, given) for number, given in enumerate(arguments)]
        with progress(len(jobs), what, "model") as bar:
            return run_jobs(jobs, *shares(compute), lambda job: nullcontext(), lambda done: _show(bar, done))

    return parallel_map


def shares(compute: ComputeConfig) -> tuple[int, int]:
    """Trainings at a time, and threads of each: on a GPU one with all, on CPUs as many as there are cores for."""
    if any(Path("/dev", driver).exists() for driver in _DRIVERS):
        import torch

        if torch.cuda.is_available():
            return 1, torch.get_num_threads()
    return compute.processes or max(1, (os.cpu_count() or 1) // compute.threads), compute.threads


@contextmanager
def config_file(config: SystemConfig) -> Iterator[Path]:
    """The settings of a system in a file, for processes that train on a device each."""
    with TemporaryDirectory() as place:
        file = Path(place) / "config.json"
        file.write_text(json.dumps(config.to_dict()), encoding="utf-8")
        yield file


def _show(bar: DelayedBar, done: float) -> None:
    bar.n = done
    bar.refresh()
