"""Trainings side by side: in an order that holds, one error ends all, and nobody is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
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
def found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They import the tests' own modules."""
    monkeypatch.syspath_prepend(str(PROJECT))


class Around:
    """Notes the begin of jobs, and their end or error."""

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


def chain(folder: Path) -> list[Job]:
    """Two that start from the first, one that waits for nothing, one that waits for a job that is not among them."""
    return [
        Job("base", jobs.write, (folder, "base")),
        Job("one", jobs.write, (folder, "one", ("base",)), "base"),
        Job("two", jobs.write, (folder, "two", ("base", "one")), "one"),
        Job("other", jobs.write, (folder, "other")),
        Job("late", jobs.write, (folder, "late"), "was done before"),
    ]


@PROCESSES
def test_jobs_begin_behind_what_they_wait_for(processes: int, tmp_path: Path) -> None:
    around, shares = Around(), list[float]()
    run_jobs(chain(tmp_path), processes, 1, around, shares.append)
    assert {file.stem: file.read_text() for file in tmp_path.glob("*.done")} == {
        name: f"{name} []" for name in ("base", "one", "two", "other", "late")
    }
    for first, second in (("base", "one"), ("one", "two")):
        assert around.events.index(("end", first)) < around.events.index(("begin", second))
    assert len(around.events) == 10 and shares == sorted(shares)
    assert shares[-1] == 5 if processes == 2 else shares == [0.5, 1.5, 2.5, 3.5, 4.5]


@pytest.mark.slow
def test_two_are_side_by_side(tmp_path: Path) -> None:
    run_jobs([Job(a, jobs.meet, (tmp_path, a, b)) for a, b in (("1", "2"), ("2", "1"))], 2, 1, Around())
    assert len(list(tmp_path.glob("*.done"))) == 2


@PROCESSES
def test_the_first_error_ends_all_and_is_raised(processes: int, tmp_path: Path) -> None:
    around = Around()
    first = [Job("sleep", jobs.sleep, (tmp_path,))] if processes == 2 else []
    failing = Job("fail", *((jobs.fail_after, (tmp_path / "pid",)) if first else (jobs.fail, (tmp_path,))))
    with pytest.raises(OSError, match=f"the disk of {tmp_path.name} is gone"):
        run_jobs([*first, failing, Job("never", jobs.write, (tmp_path, "never"))], processes, 1, around)
    assert not (tmp_path / "never.done").exists()
    assert ("OSError", "fail") in around.events and ("begin", "never") not in around.events
    if first:
        assert ("OSError", "sleep") in around.events
        assert gone(int((tmp_path / "pid").read_text()))
        # The next jobs get workers of their own.
        run_jobs([Job(name, jobs.write, (tmp_path, name)) for name in ("a", "b")], processes, 1, Around())
        assert (tmp_path / "b.done").exists()


@pytest.mark.slow
def test_a_worker_that_vanishes_ends_all(tmp_path: Path) -> None:
    with pytest.raises(BrokenProcessPool):
        run_jobs([Job("vanish", jobs.vanish, ()), Job("sleep", jobs.sleep, (tmp_path,))], 2, 1, Around())
    if (tmp_path / "pid").exists():
        assert gone(int((tmp_path / "pid").read_text()))


#: A parent that waits for two jobs.
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
def test_no_worker_is_left_where_its_parent_was_killed(number: signal.Signals, tmp_path: Path) -> None:
    """The next run must find its folder alone."""
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
    assert all(gone(int(file.read_text())) for file in pid_files)


def gone(process: int) -> bool:
    """Whether a process ends within some seconds."""
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
def test_trainings_side_by_side_give_what_they_give_one_after_another(
    examples: Path, tokenizer: Path, tmp_path: Path
) -> None:
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
        run_jobs(todo, processes, 1, Around())
    for run in runs:
        assert_same(weights(tmp_path / "1" / run), weights(tmp_path / "2" / run))


@pytest.fixture(scope="module", autouse=True)
def no_workers_left() -> Iterator[None]:
    """Whatever the tests did: pools are closed behind them."""
    yield
    for pool, _ in fleet._pools.values():
        pool.shutdown(cancel_futures=True)
    fleet._pools.clear()
