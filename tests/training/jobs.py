"""What workers do in the tests of the fleet; a module of its own, which other processes can import."""

import os
import time
from pathlib import Path

from contexture.training import progress


def write(folder: Path, name: str, needs: tuple[str, ...] = ()) -> None:
    """Begin, tell half, and end: what it depends on must have ended before."""
    missing = [job for job in needs if not (folder / f"{job}.done").exists()]
    progress.report(0.5)
    (folder / f"{name}.done").write_text(f"{name} {missing}")


def meet(folder: Path, name: str, other: str) -> None:
    """Two that can only end side by side."""
    (folder / f"{name}.here").touch()
    until = time.monotonic() + 30
    while not (folder / f"{other}.here").exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{other} never came")
        time.sleep(0.01)
    write(folder, name)


def fail(folder: Path) -> None:
    raise OSError(f"the disk of {folder.name} is gone")


def vanish() -> None:
    """As if killed for its memory."""
    os._exit(1)


def sleep(folder: Path) -> None:
    """Longer than anybody waits."""
    (folder / "pid").write_text(str(os.getpid()))
    time.sleep(60)


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.01)


def fail_after(file: Path) -> None:
    """When another job is under way."""
    wait_for(file)
    fail(file.parent)
