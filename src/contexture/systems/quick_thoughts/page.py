"""The page of Quick-Thoughts, and of every encoder of sentences evaluated as it is."""

from collections.abc import Sequence

import pandas as pd

from contexture.metrics.measures import AGGREGATES
from contexture.reporting.default_page import further
from contexture.reporting.names import PROTOCOLS, TASKS, in_order
from contexture.reporting.page import Page, ReportContext, Section, section, sections
from contexture.reporting.published import TaskColumn, TaskTable
from contexture.reporting.records import Record, data_of
from contexture.reporting.sentence_tables import aggregates_tables, chosen_table, neighbours_table
from contexture.reporting.tables import Comparison, Table, comparison_table, counts_table
from contexture.reporting.task_tables import compare_every, task_table, task_tables
from contexture.reporting.training_tables import examples_per_second, trainings_table
from contexture.systems.quick_thoughts.published import (
    ANALOGIES,
    AVERAGED,
    CAPTIONS,
    COMPARISONS,
    LABELS,
    PAPER,
    PROBES,
    SPEED_UP,
    UNSEEDED,
    analogies_table,
    captions_table,
    excluding_table,
    further_table,
    similarity_table,
    supervised_table,
    unsupervised_table,
)
from contexture.systems.quick_thoughts.quality_curves import quality_over_time

TITLE = "Quick-Thoughts"
NOTE = (
    "Ours: encoders of the sizes above, trained on the text above and then frozen. The paper's have vectors of 2,400 "
    "to 4,800 numbers and read 45 million sentences of 7,000 novels. Unless the configuration says the same, the "
    "numbers are not comparable; what can be compared is the order of the rows."
)
#: The variants, in the order of colours.
ORDER = tuple(LABELS)
#: The run that both speeds of training are told of, and the one it is measured against.
FAST, SLOW = "uni", "skip_thought"
FIGURE_2 = "Figure 2: quality against the time of training"
CAPTION = "Snapshots of the encoders during training, by the time that training took, not counting their evaluation."
SEVERAL = " Thin lines are single seeds, thick lines their mean."
LEFT_OUT = {
    "dropped": "Lines without a sentence or a score",
    "zero_vectors": "Sentences of the tasks without a known word",
}
TRAINING = (
    "Sentences a second against Skip-Thought's. Paper: 4.8 times less training time with one encoder for both, of "
    f"19.8M and 57.7M parameters ({PAPER}, appendix C)."
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's Tables 1 to 6 and 8 and its Figure 2 beside ours, as far as ours are there, and all of similarity.

    Raises:
        ValueError: for facts with keys missing.
    """
    facts = context.facts.get("sentences", {})
    ran = {r["protocol"] for r in records}
    protocols = [protocol for protocol in PROBES if protocol in ran] or [PROBES[0]]
    gains = [*(_gains(records, protocol) for protocol in protocols), _similarity_gains(records)]
    figures = {}
    quality = Section(FIGURE_2, text="Not run: no encoders were kept on the way of their training.")
    if over_time := facts.get("quality_over_time"):
        table = pd.DataFrame(over_time)
        figures["quality_over_time"] = quality_over_time(table, LABELS, TASKS, ORDER)
        caption = CAPTION + SEVERAL * (table["seed"].nunique() > 1)
        quality = Section(FIGURE_2, figures=["quality_over_time"], text=caption)
    shown = [r["task"] for r in records if r["protocol"] in (*PROBES, "cosine") or r["task"] in (ANALOGIES, CAPTIONS)]
    return Page(
        findings=[*_findings(gains[0]), *_findings(gains[-1]), *_speed_findings(context)],
        sections=[
            *sections(table for protocol in protocols for table in _probes(records, protocol)),
            *sections([comparison_table([gain for some in gains for gain in some])]),
            quality,
            *sections([*task_tables(records, similarity_table()), *aggregates_tables(records, LABELS)]),
            *_captions(records, context),
            *sections(_analogies(records)),
            _neighbours(facts.get("neighbours", ())),
            *further(records, shown, LABELS),
            *sections([chosen_table(facts.get("chosen", ()), LABELS)]),
            *sections([trainings_table(context.trainings, {**LABELS, **context.labels}, "Sentences", SLOW, TRAINING)]),
            *sections(counts_table(title, facts.get(name, {})) for name, title in LEFT_OUT.items()),
        ],
        figures=figures,
        variants=ORDER,
    )


def _probes(records: Sequence[Record], protocol: str) -> list[Table]:
    """Table 1, Tables 2 and 3, and what the paper does not have."""
    published = [unsupervised_table(protocol), supervised_table(protocol)]
    beside = further_table(protocol, {(r["task"], r["metric"]) for r in records if r["protocol"] == protocol})
    return [table for one in [*published, *([beside] if beside.columns else [])] for table in task_tables(records, one)]


def _gains(records: Sequence[Record], protocol: str) -> list[Comparison]:
    published = unsupervised_table(protocol)
    columns = [c for c in published.columns if c.task in AVERAGED and c.metric == "accuracy"]
    setting = f"classification tasks, {PROTOCOLS[protocol]}"
    return compare_every(records, published, columns, COMPARISONS, setting, UNSEEDED)


def _similarity_gains(records: Sequence[Record]) -> list[Comparison]:
    metric = f"spearman_{next(iter(AGGREGATES))}"
    tasks = in_order(r["task"] for r in records if r["metric"] == metric)
    columns = tuple(TaskColumn(task, "cosine", metric, task) for task in tasks)
    published = TaskTable("", "", "", columns, labels=LABELS)
    return compare_every(records, published, columns, COMPARISONS, "similarity tasks", UNSEEDED)


def _findings(gains: Sequence[Comparison]) -> list[str]:
    """Those of the first variant that was compared; the others stand in the table of gains."""
    return [f"On average ({gain.setting}), {gain.sentence}" for gain in gains if gain.variant == gains[0].variant]


def _speed_findings(context: ReportContext) -> list[str]:
    """How much faster Quick-Thoughts trains than Skip-Thought does."""
    fast, slow = (examples_per_second(context.trainings, run) for run in (FAST, SLOW))
    if not fast or not slow:
        return []
    return [
        f"{LABELS[FAST]} trains on {fast / slow:.1f} times as many sentences a second as {LABELS[SLOW]} "
        f"({fast:,.0f} against {slow:,.0f}). The paper, with one encoder for both: {SPEED_UP} times."
    ]


def _captions(records: Sequence[Record], context: ReportContext) -> list[Section]:
    published = captions_table()
    if any(r["task"] == CAPTIONS for r in records):
        return sections(task_tables(records, published))
    missing = {name: why for facts in context.facts.values() for name, why in facts.get("missing", {}).items()}
    why = str(missing.get(CAPTIONS, f"there are no records of {CAPTIONS}"))
    return [Section(published.title, text=f"Not run: {why.rstrip('.')}.")]


def _analogies(records: Sequence[Record]) -> list[Table]:
    """Of each data that has some: categories by name, then all of them."""
    own = [r for r in records if r["task"] == ANALOGIES]
    tables = []
    for data in data_of(own):
        found = {r["data"].partition("/")[2] for r in own if r["data"].split("/")[0] == data}
        categories = sorted(found, key=lambda name: (not name, name))
        tables += [task_table(own, table(categories, data), data) for table in (analogies_table, excluding_table)]
    return tables


def _neighbours(rows: Sequence[dict[str, object]]) -> Section:
    remark = f"For the paper's queries and neighbours see {PAPER}, Table 5."
    table = neighbours_table(rows, LABELS, "Table 5: nearest neighbours", remark)
    return section(table) if table.rows else Section(table.title, text="Not run: no neighbours were looked for.")
