"""The tables of encoders of sentences that have no published numbers beside them: similarity, C and neighbours."""

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from contexture.metrics.measures import AGGREGATES, CORRELATIONS
from contexture.reporting.names import PROTOCOLS, TASKS, in_order
from contexture.reporting.published import ScoreColumn, ScoreTable
from contexture.reporting.records import METRICS, Record, by_seed, data_of
from contexture.reporting.tables import NOTHING, Column, Table, best, by_label, mean_std, required, variants_of

#: (correlation, aggregate) → metric, in the order of the columns.
AGGREGATED = {
    f"{kind}_{aggregate}": (name, how) for kind, name in CORRELATIONS.items() for aggregate, how in AGGREGATES.items()
}


def aggregates_tables(records: Sequence[Record], labels: Mapping[str, str]) -> list[Table]:
    """Of each data: every similarity task with all six aggregates of its subsets' correlations."""
    own = [r for r in records if r["metric"] in AGGREGATED]
    return [_aggregates_table(own, data, labels) for data in data_of(own)]


def chosen_table(rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str]) -> Table:
    """The strengths C that the probes chose: median over folds and seeds, and range.

    Args:
        rows: with the keys variant, task, protocol and c, a list of numbers.
        labels: how variants are called, in their order.

    Raises:
        ValueError: naming what a row lacks, or one without numbers.
    """
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        variant, task, protocol, c = required("the chosen C", row, ("variant", "task", "protocol", "c"))
        if not c:
            raise ValueError(f"no C was chosen: {dict(row)!r}")
        found.setdefault((variant, protocol), {}).setdefault(task, []).extend(c)
    tasks = in_order(task for by_task in found.values() for task in by_task)
    variants = by_label(sorted({variant for variant, _ in found}), labels)
    return Table(
        title="Chosen C of the probes",
        columns=(Column("Model"), Column("Protocol"), *(Column(TASKS.get(task, task), numeric=True) for task in tasks)),
        rows=tuple(
            (
                labels.get(variant, variant),
                PROTOCOLS.get(protocol, protocol),
                *(_median_and_range(by_task.get(task, [])) for task in tasks),
            )
            for (variant, protocol), by_task in sorted(
                found.items(), key=lambda item: (variants.index(item[0][0]), item[0][1])
            )
        ),
        caption="Median over folds and seeds, and the range where they differ; the inverse strength of regularisation.",
    )


def neighbours_table(
    rows: Sequence[Mapping[str, Any]], labels: Mapping[str, str], title: str = "Nearest neighbours", remark: str = ""
) -> Table:
    """Queries, and the sentence nearest to each by every model: to be read.

    Args:
        rows: with the keys query, model, neighbour and cosine; of several neighbours the nearest is shown.
        labels: how models are called, in their order.
        title: of the table.
        remark: what else is said below it.

    Raises:
        ValueError: naming what a row lacks.
    """
    keys = ("query", "model", "neighbour", "cosine")
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for row in rows:
        query, model, neighbour, cosine = required("a neighbour", row, keys)
        by_model = found.setdefault(query, {})
        by_model[model] = max(by_model.get(model, (-2.0, "")), (cosine, neighbour))
    names = {model for by_model in found.values() for model in by_model}
    models = by_label(sorted(names), labels)
    return Table(
        title=title,
        columns=(Column("Query"), *(Column(labels.get(model, model)) for model in models)),
        rows=tuple(
            (query, *(_neighbour(by_model[model]) if model in by_model else NOTHING for model in models))
            for query, by_model in found.items()
        ),
        caption=f"The nearest sentence of the pool by cosine, which stands in brackets. {remark}".strip(),
    )


def _aggregates_table(records: Sequence[Record], data: str, labels: Mapping[str, str]) -> Table:
    cells: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    above = {}
    title = "Similarity by cosine: every task, every way to put its subsets together"
    for task in in_order(r["task"] for r in records if r["data"] == data):
        columns = tuple(ScoreColumn(task, "cosine", metric, how, name) for metric, (name, how) in AGGREGATED.items())
        above[len(cells)] = TASKS.get(task, task)
        block = variants_of(records, ScoreTable("", columns, labels=labels), data)
        rows = range(len(cells), len(cells) + len(block))
        cells += [
            (
                labels.get(variant, variant),
                *(
                    mean_std(list(by_seed(own, variant, c.place(data)).values()), decimals=METRICS[c.metric].decimals)
                    for own in [[r for r in records if r["variant"] == variant]]
                    for c in columns
                ),
            )
            for variant in block
        ]
        bold |= best(cells, rows, range(1, 1 + len(AGGREGATED)))
    heads = [Column(how, name, numeric=True) for name, how in AGGREGATED.values()]
    return Table(
        title=ScoreTable(title, (), data="senteval").title_for(data),
        columns=(Column("Model"), *heads),
        rows=tuple(cells),
        caption="Mean (standard deviation over seeds); the best of each task in bold. Of the correlations of a task's "
        "subsets: their mean, their mean weighted by pairs, and the one correlation of all pairs pooled.",
        bold=frozenset(bold),
        headings=above,
    )


def _median_and_range(values: Sequence[float]) -> str:
    if not values:
        return NOTHING
    spread = f" ({min(values):g}–{max(values):g})" if min(values) < max(values) else ""
    return f"{median_low(values):g}{spread}"


def _neighbour(found: tuple[float, str]) -> str:
    cosine, text = found
    return f"{text} ({cosine:.2f})"
