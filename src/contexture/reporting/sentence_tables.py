"""Tables of sentence encoders without published numbers: similarity, regularisation and neighbours."""

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from contexture.metrics.measures import AGGREGATES, CORRELATIONS
from contexture.reporting.names import PROTOCOLS, TASKS, label_variant, sort_tasks
from contexture.reporting.published import ScoreColumn, ScoreTable
from contexture.reporting.records import Record, list_data
from contexture.reporting.tables import (
    INTERVAL,
    NOTHING,
    Column,
    Table,
    best,
    columns,
    list_variants,
    measured_cells,
    order_by_label,
    require_keys,
)

#: (correlation, aggregate) → metric, in the order of the columns.
AGGREGATED = {
    f"{kind}_{aggregate}": (name, label)
    for kind, name in CORRELATIONS.items()
    for aggregate, label in AGGREGATES.items()
}


def aggregates_tables(records: Sequence[Record], labels: Mapping[str, str]) -> list[Table]:
    """Return a table per data set: all similarity tasks with six aggregates of their subsets' correlations."""
    similarity_records = [r for r in records if r["metric"] in AGGREGATED]
    return [_aggregates_table(similarity_records, data, labels) for data in list_data(similarity_records)]


def chosen_table(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> Table:
    """Return a table of the regularisation C that the probes chose: median over folds and seeds, and range.

    Each row has the keys variant, task, protocol and c (a list of numbers); ValueError for a missing key.
    """
    chosen: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        variant, task, protocol, c = require_keys("the chosen C", row, ("variant", "task", "protocol", "c"))
        if not c:
            raise ValueError(f"empty list c in the chosen C: {dict(row)!r}")
        chosen.setdefault((variant, protocol), {}).setdefault(task, []).extend(c)
    tasks = sort_tasks(task for by_task in chosen.values() for task in by_task)
    variants = order_by_label(sorted({variant for variant, _ in chosen}), labels)
    return Table(
        title="Chosen C of the probes",
        columns=columns("Model", "Protocol", numbers=[TASKS.get(task, task) for task in tasks]),
        rows=tuple(
            (
                label_variant(variant, labels),
                PROTOCOLS.get(protocol, protocol),
                *(_median_and_range(chosen[variant, protocol].get(task, [])) for task in tasks),
            )
            for variant, protocol in sorted(chosen, key=lambda pair: (variants.index(pair[0]), pair[1]))
        ),
        caption="C: inverse regularisation strength. Median over folds and seeds; in brackets: range if they differ.",
    )


def neighbours_table(
    rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str], title: str = "Nearest neighbours", remark: str = ""
) -> Table:
    """Return a table of the nearest sentence of each query by each model, with its cosine.

    Each row has the keys query, model, neighbour and cosine; ValueError for a missing key. Of several neighbours the
    nearest one is shown. `labels` give the order of models, `remark` ends the caption.
    """
    nearest: dict[str, dict[str, tuple[float, str]]] = {}
    for row in rows:
        query, model, neighbour, cosine = require_keys("a neighbour", row, ("query", "model", "neighbour", "cosine"))
        by_model = nearest.setdefault(query, {})
        by_model[model] = max(by_model.get(model, (-2.0, "")), (cosine, neighbour))
    models = order_by_label(sorted({model for by_model in nearest.values() for model in by_model}), labels)
    cells = {
        query: {model: f"{text} ({cosine:.2f})" for model, (cosine, text) in by_model.items()}
        for query, by_model in nearest.items()
    }
    return Table(
        title=title,
        columns=columns("Query", *(label_variant(model, labels) for model in models)),
        rows=tuple((query, *(texts.get(model, NOTHING) for model in models)) for query, texts in cells.items()),
        caption=f"The nearest sentence of the pool; in brackets: its cosine. {remark}".strip(),
    )


def _aggregates_table(records: Sequence[Record], data: str, labels: Mapping[str, str]) -> Table:
    """Return the table of one data set: each task's variants with aggregates of their correlations."""
    cells: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    above = {}
    title = "Similarity by cosine: all tasks, all aggregates of subsets"
    for task in sort_tasks(r["task"] for r in records if r["data"] == data):
        shown_columns = tuple(
            ScoreColumn(task, "cosine", metric, label, name) for metric, (name, label) in AGGREGATED.items()
        )
        table = ScoreTable("", shown_columns, labels=labels)
        above[len(cells)] = TASKS.get(task, task)
        variants = list_variants(records, table, data)
        rows = range(len(cells), len(cells) + len(variants))
        cells += [(label_variant(name, labels), *measured_cells(records, name, table, data)[1]) for name in variants]
        bold |= best(cells, rows, range(1, 1 + len(AGGREGATED)))
    heads = [Column(label, name, numeric=True) for name, label in AGGREGATED.values()]
    return Table(
        title=ScoreTable(title, (), data="senteval").make_title(data),
        columns=(Column("Model"), *heads),
        rows=tuple(cells),
        caption=f"{INTERVAL.capitalize()}; best of each task in bold. Aggregates of a task's subsets: "
        "mean, mean weighted by pairs, and one correlation of all pairs pooled.",
        bold=frozenset(bold),
        headings=above,
    )


def _median_and_range(values: Sequence[float]) -> str:
    """Format the median and, if the values differ, their range: "1 (0.5–2)"."""
    if not values:
        return NOTHING
    spread = f" ({min(values):g}–{max(values):g})" if min(values) < max(values) else ""
    return f"{median_low(values):g}{spread}"
