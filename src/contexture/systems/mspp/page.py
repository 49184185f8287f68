"""The report of MSPP."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from contexture.encoders.config import BI_ENCODER
from contexture.reporting.default_page import remaining_sections
from contexture.reporting.names import AFTER, protocol_name
from contexture.reporting.page import Page, ReportContext, sections
from contexture.reporting.published import ScoreTable, read_published
from contexture.reporting.records import Record, ScoreKey, list_data, values_by_seed
from contexture.reporting.tables import Comparison, Table, comparison_table, results_table
from contexture.reporting.task_tables import compare
from contexture.reporting.training_tables import trainings_table
from contexture.systems.mspp import fact_verification
from contexture.systems.mspp.further_tables import latency_table, rescued_table, sets_table

PUBLISHED = read_published("contexture.systems.mspp")
TITLE, NOTE, LABELS = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels
TASK = "answer_selection"
#: The baseline of the paper's tests, and its protocol in all tables.
PAIRWISE, GROUPED = "pairwise", "grouped"
#: Set whose published numbers are shown for sets that the paper does not have.
DEFAULT_SET = "wikiqa"
FROZEN_NOTE = "Pre-trained encoders without fine-tuning. Candidates are ranked by cosine similarity to the question."


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return MSPP's report page: the paper's tables with our scores, and gains in MAP over the baselines.

    Raises:
        ValueError: a training lacks a key; the message names run and key.
    """
    data = list_data(record for record in records if record["task"] == TASK)
    # Without records, show the paper's numbers of WikiQA.
    names = data or [DEFAULT_SET]
    tables: list[Table] = []
    for table in ("table_1", "table_2"):
        tables += [
            results_table(records, _get_published_table(table, name), name, full_command=context.full_command)
            for name in names
        ]
    grouped = [gain for name in data for gain in _compare_variants(records, "table_1", name)]
    reranked = [gain for name in data for gain in _compare_variants(records, "table_2", name)]
    reranked = [replace(gain, setting=f"{gain.setting}, re-ranked") for gain in reranked]
    for name in data:
        tables += _build_further_tables(records, name)
    tables += [_build_frozen_table(records, name) for name in data]
    tables += fact_verification.build_tables(records, context.full_command)
    tables.append(comparison_table([*grouped, *reranked, *fact_verification.compare_variants(records)]))
    details = context.details.get(TASK, {})
    tables += [sets_table(details["counts"], PUBLISHED)] if details.get("counts") else []
    tables += [rescued_table(name, rescued, LABELS) for name, rescued in details.get("rescued", {}).items()]
    tables += [latency_table(name, latency, PUBLISHED) for name, latency in details.get("latency", {}).items()]
    return Page(
        findings=[*(gain.describe() for gain in grouped), *fact_verification.describe_results(records)],
        sections=[
            *sections(tables),
            *remaining_sections(records, [TASK, fact_verification.TASK], LABELS),
            *sections([trainings_table(context.trainings, {**LABELS, **context.labels})]),
        ],
        variants=(*LABELS,),
    )


def _get_published_table(table: str, data: str) -> ScoreTable:
    """Return one of the paper's tables for a data set; sets that are not in the paper get WikiQA's rows."""
    known = {row.data for row in PUBLISHED.tables["table_1"].rows}
    return PUBLISHED.tables[table].select_data(data if data in known else DEFAULT_SET)


def _compare_variants(records: Sequence[Record], table: str, data: str) -> list[Comparison]:
    """Return the gains in MAP over the pairwise model, which is never re-ranked, and over joint models without MSPP."""
    published = _get_published_table(table, data)
    return [
        gain
        for pair in PUBLISHED.comparisons
        for gain in compare(
            records, published, data, [pair], "map", baseline_protocol=GROUPED if pair[1] == PAIRWISE else ""
        )
    ]


def _build_further_tables(records: Sequence[Record], data: str) -> list[Table]:
    """Return a table per protocol of bi-encoders, and of models that were fine-tuned on another set first (TANDA)."""
    protocols = dict.fromkeys(r["protocol"] for r in records if r["task"] == TASK and r["data"] == data)
    published = PUBLISHED.tables["table_1"]
    return [
        results_table(
            records, published.without_paper(f"Answer selection, {protocol_name(name)}").with_protocol(name), data
        )
        for name in protocols
        if AFTER in name or name == BI_ENCODER
    ]


def _build_frozen_table(records: Sequence[Record], data: str) -> Table:
    """Return the table of frozen encoders, with a note on models that rank better frozen than fine-tuned."""
    published = PUBLISHED.tables["table_1"].without_paper("Answer selection without fine-tuning", FROZEN_NOTE)
    table = results_table(records, published.with_protocol("frozen"), data)
    better = []
    for variant, label in LABELS.items():
        frozen, tuned = (
            values_by_seed(records, variant, ScoreKey(TASK, data, name, "map")) for name in ("frozen", GROUPED)
        )
        if frozen and tuned and mean(frozen.values()) > mean(tuned.values()):
            better.append(f"{label} (frozen {mean(frozen.values()):.1f}, fine-tuned {mean(tuned.values()):.1f})")
    if not better:
        return table
    note = (
        f"Better frozen than fine-tuned, by MAP: {'; '.join(better)}. Frozen encoders compare vectors of single texts; "
        "fine-tuned ones read question and candidates together, which the task's questions alone did not teach."
    )
    return replace(table, caption=f"{table.caption} {note}")
