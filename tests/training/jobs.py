"""Functions of jobs in tests of `fleet`, in a module that other processes can import."""

import os
import time
import weakref
from pathlib import Path

from contexture.training import progress

_left: list["weakref.ref[_Node]"] = []


def write(folder: Path, name: str, needs: tuple[str, ...] = ()) -> None:
    """Report a share of 0.5 and write which of the jobs `needs` have not ended."""
    missing = [job for job in needs if not (folder / f"{job}.done").exists()]
    progress.report(0.5)
    (folder / f"{name}.done").write_text(f"{name} {missing}")


def write_after_meeting(folder: Path, name: str, other: str) -> None:
    """Wait for the other job, so that two jobs end only if they run in parallel."""
    (folder / f"{name}.here").touch()
    until = time.monotonic() + 30
    while not (folder / f"{other}.here").exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{other} did not start")
        time.sleep(0.01)
    write(folder, name)


def report_beside(folder: Path, name: str, other: str, share: float) -> None:
    """Report a share, wait until the other job has done so, and keep on running while both are looked at."""
    progress.report(share)
    (folder / f"{name}.here").touch()
    wait_for(folder / f"{other}.here")
    time.sleep(1.2)


def fail(folder: Path) -> None:
    raise OSError(f"the disk of {folder.name} is gone")


def exit_abruptly() -> None:
    os._exit(1)


def sleep(folder: Path) -> None:
    """Write the process ID and sleep longer than any test."""
    (folder / "pid").write_text(str(os.getpid()))
    time.sleep(60)


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.01)


def fail_after(file: Path) -> None:
    wait_for(file)
    fail(file.parent)


class _Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def leave_cycle() -> None:
    """Create an object that only Python's collector of cycles can free."""
    _left.append(weakref.ref(_Node()))


def count_left() -> int:
    """Return how many objects of `leave_cycle` this process still has."""
    return sum(reference() is not None for reference in _left)
