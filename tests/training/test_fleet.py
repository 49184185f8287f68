"""Trainings in parallel: their order, errors, and the end of workers."""

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import pytest

from contexture.training import fleet
from contexture.training.fleet import Job, run_jobs
from tests.training import jobs
from tests.training.runs import assert_same, weights
from tests.training.toys import schedule, two_towers

PROJECT = Path(__file__).resolve().parents[2]
#: Workers load torch before they begin.
PROCESSES = pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def add_project_to_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROJECT))


class JobLog:
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    @contextmanager
    def __call__(self, job: Job) -> Iterator[None]:
        self.events.append(("begin", job.name))
        try:
            yield
        except BaseException as error:
            self.events.append((type(error).__name__, job.name))
            raise
        self.events.append(("end", job.name))


def make_chain(folder: Path) -> list[Job]:
    """Return jobs with and without a predecessor, and one whose predecessor is not in the list."""
    return [
        Job("base", jobs.write, (folder, "base")),
        Job("first", jobs.write, (folder, "first", ("base",)), "base"),
        Job("second", jobs.write, (folder, "second", ("base", "first")), "first"),
        Job("other", jobs.write, (folder, "other")),
        Job("late", jobs.write, (folder, "late"), "was done before"),
    ]


@PROCESSES
def test_jobs_start_after_their_predecessors(processes: int, tmp_path: Path) -> None:
    log, shares = JobLog(), list[float]()
    run_jobs(make_chain(tmp_path), processes, 1, log, shares.append)
    assert {file.stem: file.read_text() for file in tmp_path.glob("*.done")} == {
        name: f"{name} []" for name in ("base", "first", "second", "other", "late")
    }
    for previous, following in (("base", "first"), ("first", "second")):
        assert log.events.index(("end", previous)) < log.events.index(("begin", following))
    assert len(log.events) == 10 and shares == sorted(shares)
    assert shares[-1] == 5 if processes == 2 else shares == [0.5, 1.5, 2.5, 3.5, 4.5]


@pytest.mark.slow
def test_two_jobs_run_in_parallel(tmp_path: Path) -> None:
    run_jobs([Job(a, jobs.write_after_meeting, (tmp_path, a, b)) for a, b in (("1", "2"), ("2", "1"))], 2, 1, JobLog())
    assert len(list(tmp_path.glob("*.done"))) == 2


@pytest.mark.slow
def test_shares_of_jobs_that_another_thread_runs_do_not_count(tmp_path: Path) -> None:
    def run(name: str, other: str, share: float) -> set[float]:
        reports = set[float]()
        first = Job(name, jobs.report_beside, (tmp_path, name, other, share))
        later = Job(f"after {name}", jobs.write, (tmp_path, f"after {name}"), name)
        run_jobs([first, later], 2, 1, JobLog(), reports.add)
        return reports

    with ThreadPoolExecutor(2) as threads:
        a, b = threads.submit(run, "a", "b", 0.25), threads.submit(run, "b", "a", 0.5)
    assert {0.25, 2.0} <= a.result() <= {0.0, 0.25, 1.0, 1.5, 2.0}
    assert {0.5, 2.0} <= b.result() <= {0.0, 0.5, 1.0, 1.5, 2.0}


@PROCESSES
def test_the_first_error_cancels_other_jobs_and_is_raised(processes: int, tmp_path: Path) -> None:
    log = JobLog()
    first = [Job("sleep", jobs.sleep, (tmp_path,))] if processes == 2 else []
    failing = Job("fail", *((jobs.fail_after, (tmp_path / "pid",)) if first else (jobs.fail, (tmp_path,))))
    with pytest.raises(OSError, match=f"the disk of {tmp_path.name} is gone"):
        run_jobs([*first, failing, Job("never", jobs.write, (tmp_path, "never"))], processes, 1, log)
    assert not (tmp_path / "never.done").exists()
    assert ("OSError", "fail") in log.events and ("begin", "never") not in log.events
    if first:
        assert ("OSError", "sleep") in log.events
        assert has_ended(int((tmp_path / "pid").read_text()))
        # Later jobs get new workers.
        run_jobs([Job(name, jobs.write, (tmp_path, name)) for name in ("a", "b")], processes, 1, JobLog())
        assert (tmp_path / "b.done").exists()


@pytest.mark.slow
def test_a_killed_worker_cancels_other_jobs(tmp_path: Path) -> None:
    with pytest.raises(BrokenProcessPool):
        run_jobs([Job("vanish", jobs.exit_abruptly, ()), Job("sleep", jobs.sleep, (tmp_path,))], 2, 1, JobLog())
    if (tmp_path / "pid").exists():
        assert has_ended(int((tmp_path / "pid").read_text()))


#: A program that waits for two jobs.
PARENT = """
import sys
from contextlib import nullcontext
from pathlib import Path
from contexture.training.fleet import Job, run_jobs
from tests.training import jobs

if __name__ == "__main__":
    folders = [Path(sys.argv[1]) / name for name in ("1", "2")]
    run_jobs([Job(folder.name, jobs.sleep, (folder,)) for folder in folders], 2, 1, lambda _: nullcontext())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_when_their_parent_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    pid_files = [tmp_path / name / "pid" for name in ("1", "2")]
    for file in pid_files:
        file.parent.mkdir()
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    with subprocess.Popen([sys.executable, "parent.py", str(tmp_path)], cwd=tmp_path, env=environment) as parent:
        for file in pid_files:
            jobs.wait_for(file)
        parent.send_signal(number)
        parent.wait(30)
    assert all(has_ended(int(file.read_text())) for file in pid_files)


def has_ended(process: int) -> bool:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if "Z" in Path(f"/proc/{process}/stat").read_text().split()[2]:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
def test_parallel_trainings_equal_serial_ones(examples: Path, tokenizer: Path, tmp_path: Path) -> None:
    from contexture.pipelines.pretrain.nodes import pretrain_one

    runs = {
        "base": {"schedule": []},
        "shared": schedule(3, in_batch_negatives=1) | {"start": "base"},
        "mlm": schedule(3, mlm=1),
    }
    config = two_towers(runs=runs)
    folders = {kind: examples / kind for kind in config.examples()}
    for processes in (1, 2):
        output = tmp_path / str(processes)
        todo = [
            Job(run, pretrain_one, (config, run, 0, folders, tokenizer, start and output / start, output / run), start)
            for run, start in (("base", None), ("shared", "base"), ("mlm", None))
        ]
        run_jobs(todo, processes, 1, JobLog())
    for run in runs:
        assert_same(weights(tmp_path / "1" / run), weights(tmp_path / "2" / run))


@pytest.fixture(scope="module", autouse=True)
def shut_down_workers() -> Iterator[None]:
    yield
    for pool, _ in fleet._pools.values():
        pool.shutdown(cancel_futures=True)
    fleet._pools.clear()


@pytest.mark.slow
def test_modules_can_be_imported_while_those_of_trainings_are_loaded() -> None:
    """In a process of its own, as imports happen once, at the moment at which the package is in between."""
    code = """
import sys, time
from contexture.training.fleet import start_workers
start_workers(1, 1)
while "transformers" not in sys.modules:
    time.sleep(0.001)
from transformers import AutoConfig
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_job_leaves_no_memory_in_cycles() -> None:
    gc.disable()
    try:
        left = run_jobs([Job("train", jobs.leave_cycle, ()), Job("count", jobs.count_left, ())], 1, 1, JobLog())
    finally:
        gc.enable()
    assert left == [None, 0]
