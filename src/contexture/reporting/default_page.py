"""A page for records that no paper's tables show: every number of every task."""

import re
from collections.abc import Iterable, Mapping, Sequence

from contexture.reporting.names import BY_SCORE, OWNERS, PROTOCOLS, TASKS, in_order, protocol_name
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.published import ScoreColumn, ScoreTable
from contexture.reporting.records import METRICS, Record, data_of
from contexture.reporting.tables import Table
from contexture.reporting.task_tables import task_table
from contexture.reporting.training_tables import trainings_table


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """A table a task, and what training took; ValueError naming the run and what is missing of its training."""
    labels = context.labels
    return Page((), sections([*every_table(records, labels), trainings_table(context.trainings, labels)]))


def further(records: Sequence[Record], shown: Iterable[str], labels: Mapping[str, str]) -> list[Section]:
    """Every number of the tasks that are not `shown` on a page."""
    tasks = set(shown)
    return sections(every_table([r for r in records if r["task"] not in tasks], labels))


def every_table(records: Sequence[Record], labels: Mapping[str, str]) -> list[Table]:
    """A table for each data and task with all protocols and metrics; tasks measured alike share one.

    Parts of a task's data are left out. The numbers are those of the test split. The protocols `BY_SCORE` have a table
    of their own. `labels` name the variants of the system, in their order.
    """
    whole = [r for r in records if "/" not in r["data"] and r["split"] == "test"]
    tables = []
    for data in data_of(whole):
        alike: dict[tuple[tuple[str, str], ...], dict[str, list[tuple[str, str]]]] = {}
        for task, measured in _measured([r for r in whole if r["data"] == data]).items():
            for by_score in (False, True):
                part = [place for place in measured if (place[0] in BY_SCORE) == by_score]
                alike.setdefault(tuple(part), {})[task] = part
        alike.pop((), None)
        for places, parts in alike.items():
            several = len(parts) > 1
            shown = tuple(
                ScoreColumn(task, *place, *_heading(task, *place, several, len(places) > 1))
                for task, part in parts.items()
                for place in part
            )
            title = _title(shown[0].task, several)
            if places[0][0] in BY_SCORE:
                title += ": frozen encoders by score"
            tables.append(task_table(whole, ScoreTable(title, shown, labels=labels), data))
    return tables


def _measured(records: Sequence[Record]) -> dict[str, list[tuple[str, str]]]:
    """Task → (protocol, metric) in their order: protocols from frozen ones to the most fine-tuned, and all metrics."""
    metrics = list(METRICS)
    return {
        task: sorted(
            {(r["protocol"], r["metric"]) for r in records if r["task"] == task},
            key=lambda place: (_rank(task, place[0]), metrics.index(place[1])),
        )
        for task in in_order(r["task"] for r in records)
    }


def _title(task: str, several: bool) -> str:
    """The name of a task; of several that are measured alike, the name of the task that has them all."""
    return OWNERS[task].title if several and task in OWNERS else TASKS.get(task, task)


def _rank(task: str, protocol: str) -> tuple[int, float, str]:
    known = list(OWNERS[task].protocols if task in OWNERS else PROTOCOLS)
    share = re.match(r"([\d.]+)%", protocol)
    return (known.index(protocol) if protocol in known else len(known), float(share[1]) if share else 0, protocol)


def _heading(task: str, protocol: str, metric: str, several: bool, metrics: bool) -> tuple[str, str]:
    """A column's name, and the heading above it."""
    label, name = METRICS[metric].label, TASKS.get(task, task)
    if not several:
        return label, protocol_name(protocol)
    return (label, name) if metrics else (name, f"{label}, {protocol_name(protocol)}")
