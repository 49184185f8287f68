"""Run trainings in parallel: small models use cores better with one training per core."""

import gc
import itertools
import logging
import logging.handlers
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from contexture.training import progress

# How often a thread of GNU OpenMP looks whether the others are ready before it sleeps, set before PyTorch is loaded.
# By default it looks so long that two trainings with two threads each are slower on two cores than one after the
# other. Looking 500 times costs them little; a training that is alone wakes up faster with 2,000.
ALONE_WAITING, PARALLEL_WAITING = {"GOMP_SPINCOUNT": "2000"}, {"GOMP_SPINCOUNT": "500"}
#: Seconds between two reports of progress.
POLL_SECONDS = 0.5
#: Completed shares of a pool's jobs are in an array of this length, which is longer than the number of running jobs.
MAX_RUNNING = 1000
#: (workers, threads per worker) → a pool of this process and the completed shares of its jobs.
_pools: dict[tuple[int, int], tuple[ProcessPoolExecutor, Any]] = {}
_pools_lock = threading.Lock()
#: Thread that loads the modules of trainings into this process.
_loading: list[threading.Thread] = []
#: Numbers of this process's jobs. A job's position in the array is its number modulo the length.
_numbers = itertools.count()
#: In a worker: the completed shares of jobs.
_worker: dict[str, Any] = {}


@dataclass(frozen=True)
class Job:
    """A function of a module with its arguments; `after`: the name of a job that must end first."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    after: str | None = None


def run_jobs(
    jobs: Sequence[Job],
    processes: int,
    threads: int,
    context: Callable[[Job], Any],
    report: Callable[[float], None] = lambda done: None,
) -> list[Any]:
    """Run all jobs, in parallel or in this process, and return their results. The first error cancels the others.

    Args:
        jobs: the jobs; `after` names an earlier one.
        threads: number of threads of each job.
        context: returns the context manager in which a job runs.
        report: receives, at intervals, the number of finished jobs plus the shares of running ones.
    """
    if processes > 1 and len(jobs) > 1:
        return _run_parallel(jobs, min(processes, len(jobs)), threads, context, report)
    for thread in _loading:  # two threads must not load modules that import each other
        thread.join()
    results = []
    with _limit_torch_threads(threads):
        for number, job in enumerate(jobs):
            with progress.report_to(lambda share, done=number: report(done + share)), context(job):  # type: ignore[misc]
                results.append(_run_and_free(job.function, job.arguments))
    return results


def _run_and_free(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Run a job's function and free its memory.

    A trainer and its module refer to each other. Python would find such cycles too late: some hold a model and its
    optimizer, but are few objects. Objects from before the job are frozen: to look through them takes half a second.
    """
    gc.freeze()
    try:
        return function(*arguments)
    finally:
        gc.collect()
        gc.unfreeze()


@contextmanager
def _limit_torch_threads(count: int) -> Iterator[None]:
    """Limit PyTorch to `count` threads inside the `with` block."""
    import torch

    previous_count = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(previous_count)


def _run_parallel(
    jobs: Sequence[Job], processes: int, threads: int, context: Callable[[Job], Any], report: Callable[[float], None]
) -> list[Any]:
    """Run jobs in worker processes, each after the job that it waits for, and return their results."""
    with worker_pool(processes, threads) as (pool, shares):
        waiting, results = list(jobs), dict[str, Any]()
        running: dict[Future[Any], tuple[Job, Any, int]] = {}
        names = {job.name for job in jobs}
        try:
            while waiting or running:
                ready_jobs = [job for job in waiting if job.after not in names or job.after in results]
                for job in ready_jobs[: processes - len(running)]:
                    waiting.remove(job)
                    entered = context(job)
                    entered.__enter__()
                    position = next(_numbers) % MAX_RUNNING
                    shares[position] = 0.0
                    running[pool.submit(_run_job, job.function, job.arguments, position)] = job, entered, position
                for future in wait(running, POLL_SECONDS, FIRST_COMPLETED).done:
                    job, entered, _ = running.pop(future)
                    error = future.exception()
                    entered.__exit__(type(error) if error else None, error, None)
                    results[job.name] = future.result()
                report(len(results) + sum(shares[position] for _, _, position in running.values()))
        except BaseException as error:
            for future, (_, entered, _) in running.items():
                future.cancel()
                entered.__exit__(type(error), error, None)
            for process in list(pool._processes.values()):  # the executor cannot end running jobs
                process.terminate()
            raise
    return [results[job.name] for job in jobs]


@contextmanager
def worker_pool(processes: int, threads: int) -> Iterator[tuple[ProcessPoolExecutor, Any]]:
    """Yield a pool of at least `processes` workers, kept for later jobs, and the completed shares of their jobs."""
    with _pools_lock:  # nodes may run in threads
        key = next((size for size in _pools if size[0] >= processes and size[1] == threads), (processes, threads))
        if key not in _pools:
            context = multiprocessing.get_context("spawn")
            shares, records = context.Array("d", MAX_RUNNING), context.Queue()
            logging.handlers.QueueListener(records, _Relay()).start()
            arguments = (shares, threads, os.getpid(), records)
            _pools[key] = ProcessPoolExecutor(processes, context, _start_worker, arguments), shares
    try:
        yield _pools[key]
    except BaseException:
        if pool := _pools.pop(key, None):  # another thread may have removed it
            pool[0].shutdown(wait=False, cancel_futures=True)
        raise


def start_workers(processes: int, threads: int) -> None:
    """Start the workers of later jobs, the first one alone, so that modules are compiled only once.

    With one process, this process loads the modules of trainings in the background.
    """
    if processes > 1:
        with worker_pool(processes, threads) as (pool, _):
            pool.submit(time.time).add_done_callback(lambda first: _start_remaining_workers(pool, processes, first))
    elif not _loading:
        # While a thread imports this package, which replaces itself, imports from it fail in other threads.
        import transformers  # noqa: F401

        _loading.append(threading.Thread(target=_load_training, name="load training"))
        _loading[0].start()


def _load_training() -> None:
    """Load the modules that trainings and evaluations need, which takes seconds."""
    from contexture.training import pretrain  # noqa: F401


def _start_remaining_workers(pool: ProcessPoolExecutor, processes: int, first: Future[float]) -> None:
    """Start the pool's other workers, once the first one runs, by a task for each while no worker is idle."""
    if first.cancelled() or first.exception():
        return
    with suppress(RuntimeError):  # the pool has been shut down
        for _ in range(processes):
            pool.submit(time.time)


class _Relay(logging.Handler):
    """Logs records of workers in this process."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a worker's log record to its logger in this process."""
        logging.getLogger(record.name).handle(record)


def _start_worker(shares: Any, threads: int, parent: int, records: Any) -> None:
    """Set up a worker: threads, logging to the parent, no progress bars, and an exit with the parent."""
    _worker["shares"] = shares
    logging.getLogger().handlers[:] = [logging.handlers.QueueHandler(records)]
    logging.getLogger().setLevel(logging.INFO)
    logging.captureWarnings(True)
    os.environ["TQDM_DISABLE"] = "1"
    os.environ |= {"OMP_NUM_THREADS": str(threads), **PARALLEL_WAITING}
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    import torch

    _load_training()
    torch.set_num_threads(threads)


def _exit_with_parent(parent: int) -> None:
    """End this process when its parent process has ended."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)  # a later run must not share its folder


def _run_job(function: Callable[..., Any], arguments: tuple[Any, ...], position: int) -> Any:
    """Run a job's function in a worker, report its progress at `position` of the shares, and return the result."""

    def report_share(share: float) -> None:
        _worker["shares"][position] = share

    with progress.report_to(report_share):
        return _run_and_free(function, arguments)
