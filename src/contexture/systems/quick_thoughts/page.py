"""The page of Quick-Thoughts, and of every encoder of sentences evaluated as it is."""

from collections.abc import Iterable, Sequence

import pandas as pd

from contexture.reporting.page import Page, ReportContext, Section
from contexture.reporting.published import TaskColumn, TaskTable
from contexture.reporting.quality_curves import quality_over_time
from contexture.reporting.records import AGGREGATES, CORRELATIONS, Record
from contexture.reporting.sentence_tables import (
    AGGREGATED,
    aggregates_table,
    chosen_table,
    in_order,
    missing_table,
    neighbours_table,
    training_speed_table,
)
from contexture.reporting.tables import Comparison, Table, comparison_table
from contexture.reporting.task_tables import compare_means, task_table, variants_of
from contexture.systems.quick_thoughts.published import (
    ANALOGIES,
    AVERAGED,
    CAPTIONS,
    COMPARISONS,
    LABELS,
    PROTOCOLS,
    SPEED_UP,
    TASKS,
    UNSEEDED,
    analogies_table,
    captions_table,
    excluding_table,
    further_table,
    similarity_table,
    supervised_table,
    unsupervised_table,
)

#: The variants, in the order of colours.
ORDER = tuple(LABELS)
#: The split of numbers over all subsets or categories of a task.
ALL = "all"
FIGURE_2 = "Figure 2: quality against the time of training"
CAPTION = (
    "Snapshots of the encoders during training, by the time that training took, not counting their evaluation. Thin "
    "lines are single seeds, thick lines their mean."
)
#: What only a probe measures, and what a cosine has, too.
OF_PROBES, OF_BOTH = ("accuracy", "f1", "mse"), tuple(CORRELATIONS)
OF_ANALOGIES = ("accuracy", "accuracy_excluding")


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's Tables 1 to 6 and 8 and its Figure 2 beside ours, as far as ours are there, and all of similarity.

    Raises:
        ValueError: naming the record, where a metric is none of sentence encoders or stands under a split that it
            cannot have; for facts with keys missing.
    """
    for record in records:
        _check(record)
    facts = context.sentences
    ran = {r["split"] for r in records}
    protocols = [protocol for protocol in PROTOCOLS if protocol in ran] or [next(iter(PROTOCOLS))]
    gains = [*(_gains(records, protocol) for protocol in protocols), _similarity_gains(records)]
    probes = [table for protocol in protocols for table in _probes(records, protocol)]
    figures = {}
    quality = Section(FIGURE_2, text="Not run: no encoders were kept on the way of their training.")
    if facts.quality_over_time:
        figures["quality_over_time"] = quality_over_time(pd.DataFrame(facts.quality_over_time), LABELS, TASKS, ORDER)
        quality = Section(FIGURE_2, figure="quality_over_time", text=CAPTION)
    similarity = [task_table(records, similarity_table()), aggregates_table(records)]
    told = [chosen_table(facts.chosen), training_speed_table(facts.speed), missing_table(facts.missing)]
    return Page(
        findings=[*_findings(gains[0]), *_findings(gains[-1]), *_speed_findings(context)],
        sections=[
            *_sections(probes),
            *_sections([comparison_table([gain for some in gains for gain in some])]),
            quality,
            *_sections(similarity),
            _captions(records, context),
            *_sections(_analogies(records)),
            _neighbours(context),
            *_sections(told),
        ],
        figures=figures,
        variants=ORDER,
    )


def _check(record: Record) -> None:
    """Each metric stands under the splits that it can have."""
    metric, split, task = record["metric"], record["split"], record["task"]
    if metric in AGGREGATED:
        right, expected = split == ALL, f"{ALL!r}, as it is of all subsets"
    elif metric in OF_BOTH:
        right, expected = split != ALL, f"one of {list(PROTOCOLS)} or the name of a subset"
    elif task == CAPTIONS and metric.startswith(("annotation_", "search_")):
        right, expected = split == "test", "'test'"
    elif task == ANALOGIES and metric in OF_ANALOGIES:
        return
    elif metric in OF_PROBES:
        right, expected = split in PROTOCOLS, f"one of the protocols {list(PROTOCOLS)}"
    else:
        raise ValueError(f"{metric!r} is no metric of {task!r}, an evaluation of sentence encoders: {record!r}")
    if not right:
        raise ValueError(f"the split of {metric!r} must be {expected}: {record!r}")


def _probes(records: Sequence[Record], protocol: str) -> list[Table]:
    """Table 1, Tables 2 and 3, and what the paper does not have."""
    published = [unsupervised_table(protocol), supervised_table(protocol)]
    further = further_table(protocol, {(r["task"], r["metric"]) for r in records if r["split"] == protocol})
    return [task_table(records, table) for table in [*published, *([further] if further.columns else [])]]


def _gains(records: Sequence[Record], protocol: str) -> list[Comparison]:
    published = unsupervised_table(protocol)
    columns = [c for c in published.columns if c.task in AVERAGED and c.metric == "accuracy"]
    setting = f"classification tasks, {PROTOCOLS[protocol]}"
    return compare_means(records, published, columns, COMPARISONS, setting, UNSEEDED)


def _similarity_gains(records: Sequence[Record]) -> list[Comparison]:
    metric = f"spearman_{next(iter(AGGREGATES))}"
    tasks = in_order({r["task"] for r in records if r["metric"] == metric})
    columns = tuple(TaskColumn(task, "all", metric, task) for task in tasks)
    table = TaskTable("", "", columns, labels=LABELS)
    return compare_means(records, table, columns, COMPARISONS, "similarity tasks", UNSEEDED)


def _findings(gains: Sequence[Comparison]) -> list[str]:
    """Those of the first variant that was compared; the others stand in the table of gains."""
    return [f"On average ({gain.setting}), {gain.sentence}" for gain in gains if gain.variant == gains[0].variant]


def _speed_findings(context: ReportContext) -> list[str]:
    """How much faster each Quick-Thoughts variant trains than Skip-Thought does."""
    speeds = {run: speed["sentences_per_second"] for run, speed in context.sentences.speed.items()}
    if not {"uni", "skip_thought"} <= set(speeds):
        return []
    fast, slow = speeds["uni"], speeds["skip_thought"]
    return [
        f"{LABELS['uni']} trains on {fast / slow:.1f} times as many sentences a second as {LABELS['skip_thought']} "
        f"({fast:,.0f} against {slow:,.0f}). The paper, with one encoder for both: {SPEED_UP} times."
    ]


def _captions(records: Sequence[Record], context: ReportContext) -> Section:
    published = captions_table()
    if not variants_of(records, published):
        why = context.sentences.missing.get(CAPTIONS, f"there are no records of {CAPTIONS}")
        return Section(published.title, text=f"Not run: {why.rstrip('.')}.")
    return _section(task_table(records, published))


def _analogies(records: Sequence[Record]) -> list[Table]:
    """Without rows where none were asked."""
    categories = sorted({r["split"] for r in records if r["task"] == ANALOGIES}, key=lambda name: (name == ALL, name))
    return [task_table(records, table(categories)) for table in (analogies_table, excluding_table)]


def _neighbours(context: ReportContext) -> Section:
    table = neighbours_table(context.sentences.neighbours)
    return _section(table) if table.rows else Section(table.title, text="Not run: no neighbours were looked for.")


def _sections(tables: Iterable[Table]) -> list[Section]:
    return [_section(table) for table in tables if table.rows]


def _section(table: Table) -> Section:
    return Section(table.title, table)
