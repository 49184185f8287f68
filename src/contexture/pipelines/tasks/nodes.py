"""Nodes of the stage `tasks`."""

from pathlib import Path
from typing import Any

from contexture.tasks.registry import TASKS


def read_task(name: str, source: Any, demo_dir: Path, output_dir: Path) -> Path:
    """Read, check and write the files of a task to `output_dir`; `demo_dir` has the made-up world, if it is read."""
    TASKS[name].load().prepare_data(source, demo_dir, output_dir)
    return output_dir
