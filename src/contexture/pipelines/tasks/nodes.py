"""Nodes of the stage `tasks`."""

from pathlib import Path
from typing import Any

from contexture.tasks.registry import TASKS


def read_task(name: str, source: Any, demo: Path, place: Path) -> Path:
    """Read and check a task's files once, before hours are spent; `demo` is where the made-up world lies, if asked."""
    TASKS[name].load().prepare_data(source, demo, place)
    return place
