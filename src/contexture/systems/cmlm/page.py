"""The page of CMLM."""

from collections.abc import Sequence

from contexture.reporting.default_page import all_tables
from contexture.reporting.names import PROTOCOLS
from contexture.reporting.page import Page, ReportContext, sections
from contexture.reporting.published import ScoreTable, read_published
from contexture.reporting.records import Record
from contexture.reporting.sentence_tables import aggregates_tables, chosen_table
from contexture.reporting.tables import Comparison, Table, comparison_table, list_variants
from contexture.reporting.task_tables import compare_each_data, measured_data, task_tables
from contexture.reporting.training_tables import trainings_table

PUBLISHED = read_published("contexture.systems.cmlm")
TITLE, NOTE, LABELS = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels
SIMILARITY = PUBLISHED.tables["table_2"]
#: Tables of all variants, then of ablations.
TRANSFER = ("table_1", "table_7", "table_9", "table_10")
#: Protocols of the probes; the paper uses the first one.
PROBES = ("senteval", "skip_thoughts")


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return CMLM's report page: our scores and the paper's English tables, gains over baselines, all other scores."""
    ran = {r["protocol"] for r in records}
    protocol = next((name for name in PROBES if name in ran), PROBES[0])
    transfer = [PUBLISHED.tables[name].with_protocol(protocol) for name in TRANSFER]
    gains = _compare_with_baselines(records, transfer[0], protocol)
    shown_columns = {(c.task, c.protocol, c.metric) for c in transfer[0].columns}
    other_records = [
        r for r in records if (r["task"], r["protocol"], r["metric"]) not in shown_columns and r["protocol"] != "cosine"
    ]
    return Page(
        findings=[g.describe(g.setting) for g in gains if g.variant == LABELS["cmlm"]],
        sections=sections(
            [
                *_transfer_tables(records, *transfer),
                *task_tables(records, SIMILARITY),
                comparison_table(gains),
                *aggregates_tables(records, LABELS),
                *all_tables(other_records, LABELS),
                chosen_table(context.details.get("sentences", {}).get("chosen", ()), LABELS),
                trainings_table(context.trainings, {**LABELS, **context.labels}, "Pairs"),
            ]
        ),
        variants=(*LABELS,),
    )


def _transfer_tables(records: Sequence[Record], first: ScoreTable, *ablations: ScoreTable) -> list[Table]:
    """Return Table 1 with all variants, and the tables of ablations with a variant that Table 1 does not have."""
    tables = task_tables(records, first)
    known = {row.variant for row in first.rows}
    for table in ablations:
        table_variants = {row.variant for row in table.rows}
        if any(
            (table_variants - known) & set(list_variants(records, table, data))
            for data in measured_data(records, table)
        ):
            tables += task_tables([r for r in records if r["variant"] in table_variants], table)
    return tables


def _compare_with_baselines(records: Sequence[Record], transfer: ScoreTable, protocol: str) -> list[Comparison]:
    """Return the gains of variants over baselines: mean accuracy of classification, and mean similarity score."""
    accuracy = [column for column in transfer.columns if column.metric == "accuracy"]
    setting = f"classification tasks, {PROTOCOLS[protocol]}"
    return [
        *compare_each_data(records, transfer, accuracy, PUBLISHED.comparisons, setting),
        *compare_each_data(records, SIMILARITY, SIMILARITY.columns, PUBLISHED.comparisons, "similarity tasks"),
    ]
