"""Trainings of a node: side by side, shown, and each a child run of MLflow's."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from contexture.config import ComputeConfig
from contexture.pipelines.tracking import child_run
from contexture.progress import progress
from contexture.training.fleet import Job, run_jobs


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

    with progress(len(jobs), what, "run") as bar:

        def told(done: float) -> None:
            bar.n = done
            bar.refresh()

        run_jobs([job for job, _, _ in jobs], processes(compute), around, told)


def processes(compute: ComputeConfig) -> int:
    """Trainings at a time: one on a GPU, on CPUs as many as there are cores."""
    import torch

    return 1 if torch.cuda.is_available() else (compute.processes or os.cpu_count() or 1)
