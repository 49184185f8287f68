"""Trainings of a node: in parallel, with a progress bar, each a child run of MLflow."""

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
from contexture.pipelines.hooks.console_text import say
from contexture.pipelines.tracking.child_runs import child_run
from contexture.progress import Bar, progress
from contexture.systems.config import SystemConfig
from contexture.tasks.base import ParallelMap
from contexture.training.fleet import Job, run_jobs
from contexture.training.rest import EXPECTED_END_VARIABLE

#: Files in /dev of GPU drivers. Without any, torch is not imported: a run starts three seconds earlier.
_DRIVERS = ("nvidiactl", "kfd", "dxg")
#: Threads of parallel trainings. With two, the last training uses a second core; with more, threads mostly wait.
_THREADS_PER_CORE = 2


@dataclass(frozen=True)
class Training:
    """A job that returns False if its output was there already, its output folder, and tags and settings of its run."""

    job: Job
    folder: Path
    tags: dict[str, str]
    settings: dict[str, Any]


def train_all(trainings: Sequence[Training], compute: ComputeConfig, description: str) -> None:
    """Run all trainings in parallel, each as a child run of MLflow, and print how many finished ones were reused."""
    if not trainings:
        return
    by_name = {training.job.name: training for training in trainings}
    start = time.time()
    # If the end of the run is expected, the console shows it; trainings with different budgets take unequally long.
    shows_rest = EXPECTED_END_VARIABLE not in os.environ
    with progress(len(trainings), description, "run", shows_rest=shows_rest) as bar:

        @contextmanager
        def track_training(job: Job) -> Iterator[None]:
            """Track the training of a job in MLflow while the `with` block runs."""
            training = by_name[job.name]
            with child_run(job.name, training.tags, training.settings, training.folder):
                yield
            # For the speed that the bar shows. The jobs return for certain which were kept.
            bar.initial += training.folder.exists() and training.folder.stat().st_mtime < start

        jobs = [training.job for training in trainings]
        trained = run_jobs(jobs, *split_cores(compute), track_training, lambda done: _move_bar(bar, done))
    if kept := trained.count(False):
        text = f"{kept} of {len(trainings)} were there, made with the same settings, and are kept"
        say(f"        {description}: {text}", sys.stdout)


def parallel_map(compute: ComputeConfig, description: str) -> ParallelMap:
    """Return a map that calls a function in parallel processes, as many as for trainings, with a progress bar."""

    def run_all(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results of `function` for each tuple of arguments, in their order."""
        jobs = [Job(str(number), function, args) for number, args in enumerate(arguments)]
        with progress(len(jobs), description, "model") as bar:
            return run_jobs(jobs, *split_cores(compute), lambda job: nullcontext(), lambda done: _move_bar(bar, done))

    return run_all


def split_cores(compute: ComputeConfig) -> tuple[int, int]:
    """Return the number of parallel trainings and of threads of each: one training on a GPU, several on a CPU."""
    if any(Path("/dev", driver).exists() for driver in _DRIVERS):
        import torch

        if torch.cuda.is_available():
            return 1, torch.get_num_threads()
    cores = os.cpu_count() or 1
    threads = compute.threads or max(1, cores // (compute.processes or 1))
    return compute.processes or max(1, _THREADS_PER_CORE * cores // threads), threads


@contextmanager
def config_file(config: SystemConfig) -> Iterator[Path]:
    """Write the settings of a system to a temporary file, for processes that train on several devices."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(config.to_dict()), encoding="utf-8")
        yield file


def _move_bar(bar: Bar, done: float) -> None:
    """Move the progress bar to `done` jobs."""
    bar.n = done
    bar.refresh()
