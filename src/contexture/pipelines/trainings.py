"""Trainings of a node: side by side, shown, and each a child run of MLflow's."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from contexture.config import ComputeConfig
from contexture.folders import IDENTITY
from contexture.pipelines.console import say
from contexture.pipelines.tracking import child_run
from contexture.progress import DelayedBar, progress
from contexture.systems.config import SystemConfig
from contexture.tasks.base import Each
from contexture.training.fleet import Job, run_jobs

#: What the drivers of GPUs show. Without any, torch need not be asked: a run begins three seconds earlier.
_DRIVERS = ("nvidiactl", "kfd", "dxg")


def train_all(jobs: Sequence[tuple[Job, Path, dict[str, str]]], compute: ComputeConfig, what: str) -> None:
    """Do all jobs, each given with the folder that it makes and the tags of its run."""
    if not jobs:
        return
    described = {job.name: (folder, tags) for job, folder, tags in jobs}

    @contextmanager
    def around(job: Job) -> Iterator[None]:
        folder, tags = described[job.name]
        with child_run(job.name, tags, folder):
            yield

    began = time.time()
    with progress(len(jobs), what, "run") as bar:
        run_jobs([job for job, _, _ in jobs], *shares(compute), around, lambda done: _show(bar, done))
    markers = [folder / IDENTITY for _, folder, _ in jobs]
    if kept := sum(marker.exists() and marker.stat().st_mtime < began for marker in markers):
        say(f"        {what}: {kept} of {len(jobs)} were there, made with the same settings, and are kept", sys.stdout)


def side_by_side(compute: ComputeConfig, what: str) -> Each:
    """The way to do a function of many things as trainings are done, with a bar."""

    def each(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        jobs = [Job(str(number), function, given) for number, given in enumerate(arguments)]
        with progress(len(jobs), what, "model") as bar:
            return run_jobs(jobs, *shares(compute), lambda job: nullcontext(), lambda done: _show(bar, done))

    return each


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
        file.write_text(json.dumps(config.plain()), encoding="utf-8")
        yield file


def _show(bar: DelayedBar, done: float) -> None:
    bar.n = done
    bar.refresh()
