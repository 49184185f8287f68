"""A page for records that no paper's tables show: every number of every task."""

import re
from collections.abc import Iterable, Mapping, Sequence

from contexture.reporting.names import BY_SCORE, OWNERS, PROTOCOLS, TASKS, in_order, protocol_name
from contexture.reporting.page import Page, ReportContext, Section, section, sections
from contexture.reporting.published import ScoreColumn, ScoreTable
from contexture.reporting.records import METRICS, Record, data_of
from contexture.reporting.tables import Table
from contexture.reporting.task_tables import task_table
from contexture.reporting.training_tables import trainings_table


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """A table a task, and what training took.

    Raises:
        ValueError: naming the run and what is missing of its training.
    """
    labels = context.labels
    return Page((), sections([*every_table(records, labels), trainings_table(context.trainings, labels)]))


def further(records: Sequence[Record], shown: Iterable[str], labels: Mapping[str, str]) -> list[Section]:
    """Every number of the tasks that are not `shown` on a page."""
    tasks = set(shown)
    return [section(table) for table in every_table([r for r in records if r["task"] not in tasks], labels)]


def every_table(records: Sequence[Record], labels: Mapping[str, str]) -> list[Table]:
    """A table for each data and task with all protocols and metrics; tasks measured alike share one.

    Parts of a task's data are left out. The numbers are those of the test split. The protocols `BY_SCORE` have a table
    of their own.

    Args:
        records: of one system.
        labels: how variants are called, in their order.
    """
    whole = [r for r in records if "/" not in r["data"] and r["split"] == "test"]
    tables = []
    for data in data_of(whole):
        columns = _columns([r for r in whole if r["data"] == data])
        alike: dict[tuple[tuple[str, str], ...], dict[str, list[ScoreColumn]]] = {}
        for task, of_task in columns.items():
            for part in _split_by_score(of_task):
                alike.setdefault(tuple((c.protocol, c.metric) for c in part), {})[task] = part
        for measured, parts in alike.items():
            several = len(parts) > 1
            chosen = tuple(
                ScoreColumn(c.task, c.protocol, c.metric, *_heading(c, several, len(measured) > 1))
                for part in parts.values()
                for c in part
            )
            head = _title(chosen[0].task, several)
            if measured[0][0] in BY_SCORE:
                head += ": frozen encoders by score"
            tables.append(task_table(whole, ScoreTable(head, chosen, labels=labels), data))
    return tables


def _columns(records: Sequence[Record]) -> dict[str, list[ScoreColumn]]:
    """By task, in their order: protocols from frozen ones to the most fine-tuned, and all metrics."""
    metrics = list(METRICS)
    found: dict[str, list[ScoreColumn]] = {}
    for task in in_order(r["task"] for r in records):
        places = {(r["protocol"], r["metric"]) for r in records if r["task"] == task}
        for protocol, metric in sorted(places, key=lambda place: (_rank(task, place[0]), metrics.index(place[1]))):
            found.setdefault(task, []).append(ScoreColumn(task, protocol, metric, ""))
    return found


def _split_by_score(columns: list[ScoreColumn]) -> list[list[ScoreColumn]]:
    """Split the columns of a task into those of its protocols and those of single scores; empty parts are left out."""
    parts = [[c for c in columns if (c.protocol in BY_SCORE) == by_score] for by_score in (False, True)]
    return [part for part in parts if part]


def _title(task: str, several: bool) -> str:
    """The name of a task; of several that are measured alike, the name of the task that has them all."""
    return OWNERS[task].title if several and task in OWNERS else TASKS.get(task, task)


def _rank(task: str, protocol: str) -> tuple[int, float, str]:
    known = list(OWNERS[task].protocols if task in OWNERS else PROTOCOLS)
    share = re.match(r"([\d.]+)%", protocol)
    return (known.index(protocol) if protocol in known else len(known), float(share[1]) if share else 0, protocol)


def _heading(column: ScoreColumn, several: bool, metrics: bool) -> tuple[str, str]:
    """A column's name, and the heading above it."""
    metric, protocol = METRICS[column.metric].label, protocol_name(column.protocol)
    if not several:
        return metric, protocol
    task = TASKS.get(column.task, column.task)
    return (metric, task) if metrics else (task, f"{metric}, {protocol}")
