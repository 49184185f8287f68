"""The default page: all scores of all tasks, without tables of a paper."""

import re
from collections.abc import Iterable, Mapping, Sequence

from contexture.reporting.names import PROTOCOLS, RECORD_SPECS, SCORE_PROTOCOLS, TASKS, protocol_name, sort_tasks
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.published import ScoreColumn, ScoreTable
from contexture.reporting.records import METRICS, Record, list_data
from contexture.reporting.tables import Table
from contexture.reporting.task_tables import task_table
from contexture.reporting.training_tables import trainings_table


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return a page with a table per task and the cost of training; ValueError if a training lacks a key."""
    labels = context.labels
    return Page((), sections([*all_tables(records, labels), trainings_table(context.trainings, labels)]))


def remaining_sections(
    records: Sequence[Record], shown_tasks: Iterable[str], labels: Mapping[str, str]
) -> list[Section]:
    """Return sections with tables of the tasks that are not in `shown_tasks`; `labels` map variants to labels."""
    tasks = set(shown_tasks)
    return sections(all_tables([r for r in records if r["task"] not in tasks], labels))


def all_tables(records: Sequence[Record], labels: Mapping[str, str]) -> list[Table]:
    """Return a table for each data set and task with all protocols and metrics.

    Tasks with the same protocols and metrics share a table. Only the test split is shown, without subsets of the data.
    `SCORE_PROTOCOLS` have a separate table. `labels` map variants to labels, in their order.
    """
    whole = [r for r in records if "/" not in r["data"] and r["split"] == "test"]
    tables = []
    for data in list_data(whole):
        alike: dict[tuple[tuple[str, str], ...], dict[str, list[tuple[str, str]]]] = {}
        for task, measured in _list_measurements([r for r in whole if r["data"] == data]).items():
            for by_score in (False, True):
                part = [measurement for measurement in measured if (measurement[0] in SCORE_PROTOCOLS) == by_score]
                alike.setdefault(tuple(part), {})[task] = part
        alike.pop((), None)
        for measurements, parts in alike.items():
            several = len(parts) > 1
            shown_columns = tuple(
                ScoreColumn(task, *measurement, *_column_heading(task, *measurement, several, len(measurements) > 1))
                for task, part in parts.items()
                for measurement in part
            )
            title = _table_title(shown_columns[0].task, several)
            if measurements[0][0] in SCORE_PROTOCOLS:
                title += ": frozen encoders by score"
            tables.append(task_table(whole, ScoreTable(title, shown_columns, labels=labels), data))
    return tables


def _list_measurements(records: Sequence[Record]) -> dict[str, list[tuple[str, str]]]:
    """Return task → sorted (protocol, metric) that records have: protocols from frozen to most fine-tuned."""
    metrics = list(METRICS)
    return {
        task: sorted(
            {(r["protocol"], r["metric"]) for r in records if r["task"] == task},
            key=lambda measurement: (_protocol_rank(task, measurement[0]), metrics.index(measurement[1])),
        )
        for task in sort_tasks(r["task"] for r in records)
    }


def _table_title(task: str, several: bool) -> str:
    """Return the title of a task, or of the evaluation that it belongs to if `several` tasks share the table."""
    return RECORD_SPECS[task].title if several and task in RECORD_SPECS else TASKS.get(task, task)


def _protocol_rank(task: str, protocol: str) -> tuple[int, float, str]:
    """Return the sort key of a protocol: known ones in their order, then shares by size."""
    known = list(RECORD_SPECS[task].protocols if task in RECORD_SPECS else PROTOCOLS)
    share = re.match(r"([\d.]+)%", protocol)
    return (known.index(protocol) if protocol in known else len(known), float(share[1]) if share else 0, protocol)


def _column_heading(task: str, protocol: str, metric: str, several: bool, metrics: bool) -> tuple[str, str]:
    """Return name and group heading of a column, from task, protocol and metric as far as they differ."""
    label, name = METRICS[metric].label, TASKS.get(task, task)
    if not several:
        return label, protocol_name(protocol)
    return (label, name) if metrics else (name, f"{label}, {protocol_name(protocol)}")
