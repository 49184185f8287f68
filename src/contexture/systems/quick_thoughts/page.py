"""The page of Quick-Thoughts."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pandas as pd

from contexture.metrics.measures import AGGREGATES
from contexture.reporting.default_page import remaining_sections
from contexture.reporting.names import PROTOCOLS, TASKS, sort_tasks
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.published import ScoreColumn, ScoreTable, read_published
from contexture.reporting.records import Record, list_data
from contexture.reporting.sentence_tables import aggregates_tables, chosen_table, neighbours_table
from contexture.reporting.tables import Comparison, Table, comparison_table, counts_table
from contexture.reporting.task_tables import compare_each_data, task_table, task_tables
from contexture.reporting.training_tables import examples_per_second, trainings_table
from contexture.systems.quick_thoughts.quality_curves import quality_over_time

PUBLISHED = read_published("contexture.systems.quick_thoughts")
TITLE, NOTE, LABELS, TABLES = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels, PUBLISHED.tables
#: Protocols of the probes; the paper uses the first one.
PROBES = ("skip_thoughts", "senteval")
#: Tasks of the mean accuracy in appendix D.
AVERAGED = ("mr", "cr", "subj", "mpqa", "trec", "mrpc")
CAPTIONS, ANALOGIES = "image_captions", "analogies"
#: The variants, in the order of colours.
ORDER = tuple(LABELS)
#: Runs whose training speed is compared.
FAST, SLOW = "uni", "skip_thought"
FIGURE_2 = "Figure 2: quality by training time"
CAPTION = "Snapshots during training, by training time without evaluation."
SEVERAL = " Thin lines: single seeds. Thick lines: their mean."
SKIPPED = {
    "dropped": "Skipped lines: no sentence or score",
    "zero_vectors": "Sentences without a known word",
}
RELATEDNESS = {"pearson": "r", "spearman": "ρ", "mse": "MSE"}


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return Quick-Thoughts' report page: our scores and the paper's Tables 1 to 6 and 8 and Figure 2.

    Raises:
        ValueError: for report data with missing keys.
    """
    details = context.details.get("sentences", {})
    ran = {r["protocol"] for r in records}
    protocols = [protocol for protocol in PROBES if protocol in ran] or [PROBES[0]]
    gains = [*(_classification_gains(records, protocol) for protocol in protocols), _similarity_gains(records)]
    figures = {}
    quality = Section(FIGURE_2, text="Not run: no snapshots during training.")
    if over_time := details.get("quality_over_time"):
        table = pd.DataFrame(over_time)
        figures["quality_over_time"] = quality_over_time(table, LABELS, TASKS, ORDER)
        caption = CAPTION + SEVERAL * (table["seed"].nunique() > 1)
        quality = Section(FIGURE_2, figures=["quality_over_time"], text=caption)
    shown_tasks = [
        r["task"] for r in records if r["protocol"] in (*PROBES, "cosine") or r["task"] in (ANALOGIES, CAPTIONS)
    ]
    labels, remark = {**LABELS, **context.labels}, TABLES["training"].note
    return Page(
        findings=[*_describe_gains(gains[0]), *_describe_gains(gains[-1]), *_speed_findings(context)],
        sections=sections(
            [
                *(table for protocol in protocols for table in _probe_tables(records, protocol)),
                comparison_table([gain for of_protocol in gains for gain in of_protocol]),
                quality,
                *task_tables(records, TABLES["table_8"]),
                *aggregates_tables(records, LABELS),
                *_caption_tables(records, context),
                *_analogy_tables(records),
                _neighbours_section(details.get("neighbours", ())),
                *remaining_sections(records, shown_tasks, LABELS),
                chosen_table(details.get("chosen", ()), LABELS),
                trainings_table(context.trainings, labels, "Sentences", SLOW, remark),
                *(counts_table(title, details.get(name, {})) for name, title in SKIPPED.items()),
            ]
        ),
        figures=figures,
        variants=ORDER,
    )


def _probe_tables(records: Sequence[Record], protocol: str) -> list[Table]:
    """Return the tables of the probes by a protocol: Table 1, Tables 2 and 3, and a table of further tasks."""
    name = PROTOCOLS.get(protocol, protocol)
    note = "" if protocol == PROBES[0] else "The paper uses the skip-thoughts probe."
    published = [TABLES[table].with_protocol(protocol) for table in ("table_1", "tables_2_and_3")]
    shown_columns = {(c.task, c.metric) for table in published for c in table.columns}
    measured = {(r["task"], r["metric"]) for r in records if r["protocol"] == protocol}
    tables = [replace(table, title=f"{table.title}, {name}", note=note) for table in published]
    if columns := _further_columns(protocol, measured - shown_columns):
        tables.append(ScoreTable(f"Further tasks, {name}", columns, data="senteval", labels=LABELS))
    return [made for table in tables for made in task_tables(records, table)]


def _further_columns(protocol: str, measured: Collection[tuple[str, str]]) -> tuple[ScoreColumn, ...]:
    """Return the columns of the (task, metric) pairs `measured`: correlations and MSE, accuracy and F1."""
    columns = []
    for task in sort_tasks(task for task, _ in measured):
        name = TASKS.get(task, task)
        columns += [ScoreColumn(task, protocol, metric, short, name, 3) for metric, short in RELATEDNESS.items()]
        columns += [ScoreColumn(task, protocol, "accuracy", name), ScoreColumn(task, protocol, "f1", f"{name} F1")]
    return tuple(column for column in columns if (column.task, column.metric) in measured)


def _classification_gains(records: Sequence[Record], protocol: str) -> list[Comparison]:
    """Return the gains of variants over baselines in mean accuracy of classification, by a protocol of the probes."""
    published = TABLES["table_1"].with_protocol(protocol)
    columns = [c for c in published.columns if c.task in AVERAGED and c.metric == "accuracy"]
    setting = f"classification tasks, {PROTOCOLS[protocol]}"
    return compare_each_data(records, published, columns, PUBLISHED.comparisons, setting)


def _similarity_gains(records: Sequence[Record]) -> list[Comparison]:
    """Return the gains of variants over baselines in mean Spearman correlation of the similarity tasks."""
    metric = f"spearman_{next(iter(AGGREGATES))}"
    tasks = sort_tasks(r["task"] for r in records if r["metric"] == metric)
    columns = tuple(ScoreColumn(task, "cosine", metric, task) for task in tasks)
    published = ScoreTable("", columns, labels=LABELS)
    return compare_each_data(records, published, columns, PUBLISHED.comparisons, "similarity tasks")


def _describe_gains(gains: Sequence[Comparison]) -> list[str]:
    """Return sentences on the gains of the first compared variant; the table of gains has all."""
    return [gain.describe(gain.setting) for gain in gains if gain.variant == gains[0].variant]


def _speed_findings(context: ReportContext) -> list[str]:
    """Return a sentence on how much faster Quick-Thoughts trains than Skip-Thought; none unless both were trained."""
    fast, slow = (examples_per_second(context.trainings, run) for run in (FAST, SLOW))
    if not fast or not slow:
        return []
    published = PUBLISHED.numbers("training")["Quick-Thoughts"]["speed"]
    return [
        f"{LABELS[FAST]} trains on {fast / slow:.1f} times as many sentences per second as {LABELS[SLOW]} "
        f"({fast:,.0f} and {slow:,.0f}). Paper, with the same encoder for both: {published} times."
    ]


def _caption_tables(records: Sequence[Record], context: ReportContext) -> Sequence[Table | Section]:
    """Return Table 4, ranking of images and captions, or a section that says why it was not run."""
    published = TABLES["table_4"]
    if any(r["task"] == CAPTIONS for r in records):
        return task_tables(records, published)
    missing = {name: why for details in context.details.values() for name, why in details.get("missing", {}).items()}
    why = str(missing.get(CAPTIONS, f"no scores of {TASKS[CAPTIONS].lower()}"))
    return [Section(published.title, text=f"Not run: {why.rstrip('.')}.")]


def _analogy_tables(records: Sequence[Record]) -> list[Table]:
    """Return tables of strict and lenient accuracy on analogies for each data set, by category and for all."""
    analogy_records = [r for r in records if r["task"] == ANALOGIES]
    note = "In A:B::C:D, the sentences A, B and C are excluded from the candidates."
    tables = []
    for data in list_data(analogy_records):
        names = {r["data"].partition("/")[2] for r in analogy_records if r["data"].split("/")[0] == data}
        categories = sorted(names, key=lambda name: (not name, name))
        published = TABLES["table_6"]
        if not names & {column.key for column in published.columns}:
            published = published.without_paper("Sentence analogies")
        strict = tuple(replace(published.columns[0], name=c or "all", subset=c, key=c) for c in categories)
        lax = tuple(replace(column, metric="accuracy_excluding", decimals=1) for column in strict)
        excluding = published.without_paper("Sentence analogies without the sentences of the question", note)
        for table, shown_columns in ((published, strict), (excluding, lax)):
            tables.append(task_table(analogy_records, replace(table, columns=shown_columns, data=data), data))
    return tables


def _neighbours_section(rows: Sequence[dict[str, object]]) -> Table | Section:
    """Return Table 5, nearest neighbours of sentences, or a section that says that it was not run."""
    remark = f"For the paper's queries and neighbours see {PUBLISHED.paper}, Table 5."
    table = neighbours_table(rows, LABELS, "Table 5: nearest neighbours", remark)
    return table if table.rows else Section(table.title, text="Not run: no neighbours in the configuration.")
