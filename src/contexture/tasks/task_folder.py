"""The data folder of a task and its report, `TASK_FILE`."""

import json
import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contexture.folders import hash_file, work_folder
from contexture.tasks.base import TASK_FILE
from contexture.tasks.missing import BenchmarkMissing

LOG = logging.getLogger(__name__)

#: Contents of `TASK_FILE`: `name` of the data, `counts` and `missing` by set, and keys of the task.
Report = dict[str, Any]


@contextmanager
def write_task(folder: Path, set_names: Collection[str], /, **extra: Any) -> Iterator[tuple[Path, Report]]:
    """Write a task's data folder inside the `with` block; it replaces an older one once it is complete.

    Yield the folder to write to, and the report with `extra` keys, which is saved after the block.
    """
    report: Report = {"name": ", ".join(set_names), "counts": {}, "missing": {}} | extra
    folder.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(folder) as work:
        yield work, report
        (work / TASK_FILE).write_text(json.dumps(report, indent=1, ensure_ascii=False), encoding="utf-8")


def report_missing(report: Report, name: str, reason: str) -> None:
    """Log why a set is missing and add it to `missing` in the report."""
    LOG.warning("%s", reason)
    report["missing"][name] = reason


@contextmanager
def catch_missing(report: Report, name: str) -> Iterator[None]:
    """Catch `BenchmarkMissing` of the `with` block and report the set as missing."""
    try:
        yield
    except BenchmarkMissing as error:
        report_missing(report, name, str(error))


def hash_files(paths: Iterable[Path]) -> dict[str, str]:
    """Return path → SHA-256 of the file."""
    return {str(path): hash_file(path).hex() for path in paths}


def read_report(folder: Path) -> Report:
    """Return the report `TASK_FILE` of a task's data folder."""
    report: Report = json.loads((folder / TASK_FILE).read_text(encoding="utf-8"))
    return report


def check_sets(task: str, chosen: Collection[str], report: Report) -> None:
    """Raise ValueError if a chosen set, to fine-tune on, is not in the report of the task's data."""
    known = [*report["counts"], *report["missing"]]
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"{task}.finetune: unknown set {', '.join(unknown)}; {task}.input has {known}")
