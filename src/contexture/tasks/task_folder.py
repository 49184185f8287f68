"""The folder of a task's data: its report in `TASK_FILE`, and benchmarks that are missing."""

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contexture.folders import work_folder
from contexture.tasks.base import TASK_FILE
from contexture.tasks.missing import BenchmarkMissing

LOG = logging.getLogger(__name__)

#: Contents of `TASK_FILE`: the name of the data, `counts` and `missing` by set, and further keys of a task.
Report = dict[str, Any]


@contextmanager
def write_task(folder: Path, set_names: Collection[str], /, **extra: Any) -> Iterator[tuple[Path, Report]]:
    """Fill a task's folder in the block; it replaces an older one when it is complete.

    Args:
        folder: of the task's data.
        names: of the sets of data.
        **more: keys of the report besides `name`, `counts` and `missing`.

    Yields:
        The folder to write files to, and the report, which is written after the block.
    """
    report: Report = {"name": ", ".join(set_names), "counts": {}, "missing": {}} | extra
    folder.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(folder) as work:
        yield work, report
        (work / TASK_FILE).write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")


def report_missing(report: Report, name: str, reason: str) -> None:
    """Note in the report, and warn, that a set is missing."""
    LOG.warning("%s", reason)
    report["missing"][name] = reason


@contextmanager
def catch_missing(report: Report, name: str) -> Iterator[None]:
    """Leave a set out if the block finds that it is missing."""
    try:
        yield
    except BenchmarkMissing as error:
        report_missing(report, name, str(error))


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file, by its path."""
    digests = {}
    for path in paths:
        with path.open("rb") as file:
            digests[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def read_report(folder: Path) -> Report:
    """Read the report in a task's folder."""
    report: Report = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
    return report


def check_sets(task: str, chosen: Collection[str], report: Report) -> None:
    """Raise ValueError if a set to fine-tune on is not among those of the task's input."""
    known = [*report["counts"], *report["missing"]]
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"{task}.finetune: no set is called {', '.join(unknown)}; {task}.input has {known}")
