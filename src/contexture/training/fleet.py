"""Work side by side: small models use two cores better with one each than together."""

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

LOG = logging.getLogger(__name__)
#: Seconds between two looks at what is under way.
POLL = 0.5


@dataclass(frozen=True)
class Job:
    """A training, or something else, that a worker can do.

    Attributes:
        name: by which others wait for it.
        function: of a module, so that another process finds it.
        arguments: of the function.
        after: a job that must be done before.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    after: str | None = None


def run_jobs(
    jobs: Sequence[Job],
    processes: int,
    threads: int,
    around: Callable[[Job], Any],
    told: Callable[[float], None] = lambda done: None,
) -> list[Any]:
    """Do all jobs, at most so many at a time; with one, in this process. The first error ends those that wait.

    Returns what the jobs' functions do, in the order of the jobs.

    Args:
        jobs: in an order in which each comes behind what it waits for.
        processes: worker processes.
        threads: of each job, wherever it is done.
        around: job → context manager that is entered when it begins and left when it ends.
        told: gets the jobs that are done, those under way as far as they are, now and then.
    """
    if processes == 1 or len(jobs) < 2:
        found = []
        with _threads(threads):
            for place, job in enumerate(jobs):
                with progress.to(lambda share, place=place: told(place + share)), around(job):  # type: ignore[misc]
                    found.append(job.function(*job.arguments))
        return found
    return _side_by_side(jobs, min(processes, len(jobs)), threads, around, told)


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """So many threads of torch's inside the block."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _side_by_side(
    jobs: Sequence[Job], processes: int, threads: int, around: Callable[[Job], Any], told: Callable[[float], None]
) -> list[Any]:
    with workers(processes, threads) as (pool, shares):
        left, done = list(jobs), dict[str, Any]()
        running: dict[Future[Any], tuple[Job, Any]] = {}
        names = {job.name for job in jobs}
        try:
            while left or running:
                for job in [job for job in left if job.after is None or job.after in done or job.after not in names]:
                    if len(running) == processes:
                        break
                    left.remove(job)
                    context = around(job)
                    context.__enter__()
                    running[pool.submit(_work, job.function, job.arguments)] = job, context
                for future in wait(running, POLL, FIRST_COMPLETED).done:
                    job, context = running.pop(future)
                    error = future.exception()
                    context.__exit__(type(error) if error else None, error, None)
                    done[job.name] = future.result()
                told(len(done) + sum(shares[:]))
        except BaseException as error:
            for future, (_, context) in running.items():
                future.cancel()
                context.__exit__(type(error), error, None)
            for process in list(pool._processes.values()):  # the executor has no way to end what is under way
                process.terminate()
            raise
    return [done[job.name] for job in jobs]


@contextmanager
def workers(processes: int, threads: int) -> Iterator[tuple[ProcessPoolExecutor, Any]]:
    """A pool of at least so many workers, kept for the next jobs of this process, and how far each is with its job."""
    there = next((key for key in _pools if key[0] >= processes and key[1] == threads), None)
    if there:
        found = _pools[there]
    else:
        there = processes, threads
        context = multiprocessing.get_context("spawn")
        shares, number = context.Array("d", processes), context.Value("i", 0)
        records = context.Queue()
        logging.handlers.QueueListener(records, _Here()).start()
        arguments = (shares, number, threads, os.getpid(), records)
        found = _pools[there] = ProcessPoolExecutor(processes, context, _begin, arguments), shares
    try:
        yield found
    except BaseException:
        _pools.pop(there)[0].shutdown(wait=False, cancel_futures=True)
        raise


def prepare_workers(processes: int, threads: int) -> None:
    """Start the workers of later jobs, which load what training needs while this process does something else.

    The first alone at first: what was never imported before is compiled once, not by each of them at the same time.
    """
    if processes > 1:
        with workers(processes, threads) as (pool, _):
            pool.submit(time.time).add_done_callback(lambda first: _start_others(pool, processes, first))


def _start_others(pool: ProcessPoolExecutor, processes: int, first: Future[float]) -> None:
    """Give each worker something to do while none is ready, which is what makes the pool start one."""
    if first.cancelled() or first.exception():
        return
    with suppress(RuntimeError):  # the pool has been shut down
        for _ in range(processes):
            pool.submit(time.time)


class _Here(logging.Handler):
    """What workers log is logged as if it came from this process."""

    def emit(self, record: logging.LogRecord) -> None:
        """Hand the record to its logger."""
        logging.getLogger(record.name).handle(record)


#: The pools of this process, by their number of workers and the threads of each.
_pools: dict[tuple[int, int], tuple[ProcessPoolExecutor, Any]] = {}
#: In a worker: where it tells how far it is.
_own: dict[str, Any] = {}


def _begin(shares: Any, number: Any, threads: int, parent: int, records: Any) -> None:
    """A worker's start: its threads, no bars and no log of its own, and an end with its parent."""
    with number.get_lock():
        _own["place"], number.value = number.value % len(shares), number.value + 1
    _own["shares"] = shares
    logging.getLogger().handlers[:] = [logging.handlers.QueueHandler(records)]  # whatever the main module has set up
    logging.getLogger().setLevel(logging.INFO)
    logging.captureWarnings(True)
    os.environ["TQDM_DISABLE"] = "1"
    os.environ["OMP_NUM_THREADS"] = str(threads)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    import torch

    from contexture.training import pretrain  # noqa: F401 - loaded before there is work

    torch.set_num_threads(threads)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)  # nobody waits for this work any more, and the next run must find its folder alone


def _work(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    def tell(share: float) -> None:
        _own["shares"][_own["place"]] = share

    try:
        with progress.to(tell):
            return function(*arguments)
    finally:
        tell(0.0)
