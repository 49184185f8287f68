"""The tables of sentence encoders that have no published numbers beside them: similarity, C, neighbours and speed."""

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any

from contexture.reporting.published import TaskColumn, TaskTable
from contexture.reporting.records import AGGREGATES, CORRELATIONS, METRICS, Record
from contexture.reporting.tables import NOTHING, Column, Table, best, by_seed, mean_std, required
from contexture.reporting.task_tables import variants_of
from contexture.systems.quick_thoughts.published import LABELS, PAPER, PROTOCOLS, TASKS

#: (correlation, aggregate) → metric, in the order of the columns.
AGGREGATED = {
    f"{kind}_{aggregate}": (name, how) for kind, name in CORRELATIONS.items() for aggregate, how in AGGREGATES.items()
}


def aggregates_table(records: Sequence[Record]) -> Table:
    """Every similarity task with all six aggregates of its subsets' correlations; no rows without records of them."""
    ran = {r["task"] for r in records if r["metric"] in AGGREGATED}
    cells: list[tuple[str, ...]] = []
    bold: set[tuple[int, int]] = set()
    above = {}
    for task in in_order(ran):
        columns = tuple(TaskColumn(task, "all", metric, how, name) for metric, (name, how) in AGGREGATED.items())
        above[len(cells)] = TASKS.get(task, task)
        block = variants_of(records, TaskTable("", "", columns, labels=LABELS))
        rows = range(len(cells), len(cells) + len(block))
        cells += [(LABELS.get(variant, variant), *_aggregates(records, variant, task)) for variant in block]
        bold |= best(cells, rows, range(1, 1 + len(AGGREGATED)))
    heads = [Column(how, name, numeric=True) for name, how in AGGREGATED.values()]
    return Table(
        title="Similarity by cosine: every task, every way to put its subsets together",
        columns=(Column("Model"), *heads),
        rows=tuple(cells),
        caption="Mean (standard deviation over seeds); the best of each task in bold. Of the correlations of a task's "
        "subsets: their mean, their mean weighted by pairs, and the one correlation of all pairs pooled.",
        bold=frozenset(bold),
        headings=above,
    )


def chosen_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The strengths C that the probes chose: median over folds and seeds, and range.

    Args:
        rows: with the keys variant, task, protocol and c, a list of numbers.

    Raises:
        ValueError: naming what a row lacks, or one without numbers.
    """
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        variant, task, protocol, c = required("the chosen C", row, ("variant", "task", "protocol", "c"))
        if not c:
            raise ValueError(f"no C was chosen: {dict(row)!r}")
        found.setdefault((variant, protocol), {}).setdefault(task, []).extend(c)
    tasks = in_order({task for by_task in found.values() for task in by_task})
    variants = [*LABELS, *sorted({variant for variant, _ in found} - set(LABELS))]
    return Table(
        title="Chosen C of the probes",
        columns=(Column("Model"), Column("Protocol"), *(Column(TASKS.get(task, task), numeric=True) for task in tasks)),
        rows=tuple(
            (
                LABELS.get(variant, variant),
                PROTOCOLS.get(protocol, protocol),
                *(_median_and_range(by_task.get(task, [])) for task in tasks),
            )
            for (variant, protocol), by_task in sorted(
                found.items(), key=lambda item: (variants.index(item[0][0]), item[0][1])
            )
        ),
        caption="Median over folds and seeds, and the range where they differ; the inverse strength of regularisation.",
    )


def neighbours_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Queries, and the sentence nearest to each by every model: to be read.

    Args:
        rows: with the keys query, model, neighbour and cosine; of several neighbours the nearest is shown.

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
    models = [*(name for name in LABELS if name in names), *sorted(names - set(LABELS))]
    return Table(
        title="Table 5: nearest neighbours",
        columns=(Column("Query"), *(Column(LABELS.get(model, model)) for model in models)),
        rows=tuple(
            (query, *(_neighbour(by_model[model]) if model in by_model else NOTHING for model in models))
            for query, by_model in found.items()
        ),
        caption="The nearest sentence of the pool by cosine, which stands in brackets. "
        f"For the paper's queries and neighbours see {PAPER}, Table 5.",
    )


def training_speed_table(runs: Mapping[str, Mapping[str, float]]) -> Table:
    """How fast each variant trains, and how many times as fast as Skip-Thought.

    Raises:
        ValueError: naming the run and what it lacks.
    """
    keys = ("parameters", "seconds", "words_per_second", "sentences_per_second")
    base = runs.get("skip_thought", {}).get("sentences_per_second")
    rows = []
    for name in [*(name for name in LABELS if name in runs), *(name for name in runs if name not in LABELS)]:
        parameters, seconds, words, sentences = required(f"the speed of {name}", runs[name], keys)
        times = f"{sentences / base:.1f}" if base else NOTHING
        cells = (f"{parameters:,.0f}", f"{seconds / 60:,.1f}", f"{words:,.0f}", f"{sentences:,.0f}", times)
        rows.append((LABELS.get(name, name), *cells))
    heads = ("Parameters", "Minutes", "Words a second", "Sentences a second", "times Skip-Thought")
    return Table(
        title="Training: size and speed",
        columns=(Column("Model"), *(Column(head, numeric=True) for head in heads)),
        rows=tuple(rows),
        caption="Sentences a second against Skip-Thought's. Paper: 4.8 times less training time with one encoder for "
        f"both, of 19.8M and 57.7M parameters ({PAPER}, appendix C).",
    )


def missing_table(missing: Mapping[str, str]) -> Table:
    """Tasks that were not measured, and why."""
    rows = tuple((TASKS.get(task, task), missing[task]) for task in in_order(missing))
    return Table("Not measured", (Column("Task"), Column("Why")), rows)


def in_order(tasks: Mapping[str, Any] | set[str]) -> list[str]:
    """Tasks in the order of the tables, unknown ones last."""
    return [*(task for task in TASKS if task in tasks), *sorted(set(tasks) - set(TASKS))]


def _aggregates(records: Sequence[Record], variant: str, task: str) -> list[str]:
    return [
        mean_std(list(by_seed(records, variant, task, "all", metric).values()), decimals=METRICS[metric].decimals)
        for metric in AGGREGATED
    ]


def _median_and_range(values: Sequence[float]) -> str:
    if not values:
        return NOTHING
    spread = f" ({min(values):g}–{max(values):g})" if min(values) < max(values) else ""
    return f"{median_low(values):g}{spread}"


def _neighbour(found: tuple[float, str]) -> str:
    cosine, text = found
    return f"{text} ({cosine:.2f})"
