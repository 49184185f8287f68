"""The page of MSPP."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from contexture.reporting.default_page import remaining_sections
from contexture.reporting.names import AFTER, protocol_name
from contexture.reporting.page import Page, ReportContext, sections
from contexture.reporting.published import ScoreTable, read_published
from contexture.reporting.records import Record, ScoreKey, list_data, values_by_seed
from contexture.reporting.tables import Table, comparison_table, results_table
from contexture.reporting.task_tables import compare
from contexture.reporting.training_tables import trainings_table
from contexture.systems.mspp import fact_verification
from contexture.systems.mspp.further_tables import latency_table, rescued_table, sets_table

PUBLISHED = read_published("contexture.systems.mspp")
TITLE, NOTE, LABELS = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels
TASK = "answer_selection"
#: The set whose published numbers stand with ours of a set that the paper has not.
DEFAULT_SET = "wikiqa"
FROZEN_NOTE = "The encoders as pre-training left them; candidates by how near their vectors are to the question's."


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's tables and the gains in MAP over the same models without MSPP.

    Raises:
        ValueError: naming the run and the key that its training lacks.
    """
    data = list_data(record for record in records if record["task"] == TASK)
    # Without numbers of ours, the paper's of WikiQA stand alone.
    names = data or [DEFAULT_SET]
    tables: list[Table] = []
    gains = []
    for table in ("table_1", "table_2"):
        published = {name: _published(table, name) for name in names}
        tables += [results_table(records, published[name], name, full_command=context.full_command) for name in names]
        gains.append(
            [gain for name in data for gain in compare(records, published[name], name, PUBLISHED.comparisons, "map")]
        )
    grouped, reranked = gains[0], [replace(gain, setting=f"{gain.setting}, re-ranked") for gain in gains[1]]
    for name in data:
        tables += _transferred(records, name)
    tables += [_frozen(records, name) for name in data]
    tables += fact_verification.tables(records, context.full_command)
    tables.append(comparison_table([*grouped, *reranked, *fact_verification.gains(records)]))
    details = context.details.get(TASK, {})
    tables += [sets_table(details["counts"], PUBLISHED)] if details.get("counts") else []
    tables += [rescued_table(name, rescued, LABELS) for name, rescued in details.get("rescued", {}).items()]
    tables += [latency_table(name, latency, PUBLISHED) for name, latency in details.get("latency", {}).items()]
    return Page(
        findings=[*(gain.sentence for gain in grouped), *fact_verification.findings(records)],
        sections=[
            *sections(tables),
            *remaining_sections(records, [TASK, fact_verification.TASK], LABELS),
            *sections([trainings_table(context.trainings, {**LABELS, **context.labels})]),
        ],
        variants=(*LABELS,),
    )


def _published(table: str, data: str) -> ScoreTable:
    """Table 1, or Tables 2 and 7, with the rows of a set."""
    known = {row.data for row in PUBLISHED.tables["table_1"].rows}
    return PUBLISHED.tables[table].select_data(data if data in known else DEFAULT_SET)


def _transferred(records: Sequence[Record], data: str) -> list[Table]:
    """One table a protocol of models that had learned from another set before (TANDA)."""
    protocols = dict.fromkeys(r["protocol"] for r in records if r["task"] == TASK and r["data"] == data)
    published = PUBLISHED.tables["table_1"]
    return [
        results_table(
            records, published.without_paper(f"Answer selection, {protocol_name(name)}").with_protocol(name), data
        )
        for name in protocols
        if AFTER in name
    ]


def _frozen(records: Sequence[Record], data: str) -> Table:
    """Frozen encoders, with a note if a model ranks better frozen than fine-tuned."""
    published = PUBLISHED.tables["table_1"].without_paper("Answer selection without fine-tuning", FROZEN_NOTE)
    table = results_table(records, published.with_protocol("frozen"), data)
    better = []
    for variant, label in LABELS.items():
        frozen, tuned = (
            values_by_seed(records, variant, ScoreKey(TASK, data, name, "map")) for name in ("frozen", "grouped")
        )
        if frozen and tuned and mean(frozen.values()) > mean(tuned.values()):
            better.append(f"{label} (frozen {mean(frozen.values()):.1f}, fine-tuned {mean(tuned.values()):.1f})")
    if not better:
        return table
    note = (
        f"Better frozen than fine-tuned, by MAP: {'; '.join(better)}. Frozen, texts are read one by one and their "
        "vectors compared; fine-tuned, question and candidates are read together, and to judge them so was not learned "
        "from the task's questions alone."
    )
    return replace(table, caption=f"{table.caption} {note}")
