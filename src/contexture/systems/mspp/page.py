"""The page of MSPP."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from contexture.reporting.default_page import further
from contexture.reporting.names import AFTER, protocol_name
from contexture.reporting.page import Page, ReportContext, sections
from contexture.reporting.published import ScoreTable, read_published
from contexture.reporting.records import Place, Record, by_seed, data_of
from contexture.reporting.tables import Table, comparison_table, results_table
from contexture.reporting.task_tables import compare
from contexture.reporting.training_tables import trainings_table
from contexture.systems.mspp import fact_verification
from contexture.systems.mspp.further_tables import latency_table, rescued_table, sets_table

PUBLISHED = read_published("contexture.systems.mspp")
TITLE, NOTE, LABELS = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels
TASK = "answer_selection"
#: The set whose published numbers stand beside ours of a set that the paper has not.
DEFAULT_SET = "wikiqa"
FROZEN_NOTE = "The encoders as pre-training left them; candidates by how near their vectors are to the question's."


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's tables and the gains in MAP over the same models without MSPP.

    Raises:
        ValueError: naming the run and what is missing of its training.
    """
    data = data_of(r for r in records if r["task"] == TASK)
    # Without numbers of ours, the paper's of WikiQA stand alone.
    published = {name: _published(name) for name in data or [DEFAULT_SET]}
    gains, reranked = (
        [gain for name in data for gain in compare(records, published[name][place], name, PUBLISHED.comparisons, "map")]
        for place in range(2)
    )
    in_turn = [*gains, *(replace(gain, setting=f"{gain.setting}, re-ranked") for gain in reranked)]
    made = [
        results_table(records, of[place], name, whole=context.whole)
        for place in range(2)
        for name, of in published.items()
    ]
    made += [table for name in data for table in _transferred(records, name)]
    for name in data:
        alone = PUBLISHED.tables["table_1"].of_ours("Answer selection without fine-tuning", FROZEN_NOTE)
        frozen = results_table(records, alone.by_protocol("frozen"), name)
        made.append(replace(frozen, caption=" ".join([frozen.caption, *_worse_fine_tuned(records, name)])))
    made += fact_verification.tables(records, context.whole)
    on_claims = fact_verification.gains(records)
    facts = context.facts.get(TASK, {})
    more = [sets_table(facts["counts"], PUBLISHED)] if facts.get("counts") else []
    more += [rescued_table(name, told, LABELS) for name, told in facts.get("rescued", {}).items()]
    more += [latency_table(name, told, PUBLISHED) for name, told in facts.get("latency", {}).items()]
    return Page(
        findings=[*(gain.sentence for gain in gains), *fact_verification.findings(records)],
        sections=[
            *sections([*made, comparison_table([*in_turn, *on_claims]), *more]),
            *further(records, [TASK, fact_verification.TASK], LABELS),
            *sections([trainings_table(context.trainings, {**LABELS, **context.labels})]),
        ],
        variants=(*LABELS,),
    )


def _published(data: str) -> list[ScoreTable]:
    """Table 1, and Tables 2 and 7, with the rows of a set."""
    tables = [PUBLISHED.tables[name] for name in ("table_1", "table_2")]
    known = {row.data for row in tables[0].rows}
    return [table.of_data(data if data in known else DEFAULT_SET) for table in tables]


def _transferred(records: Sequence[Record], data: str) -> list[Table]:
    """What models reached that had learned from another set before (TANDA), a table a protocol."""
    there = dict.fromkeys(r["protocol"] for r in records if r["task"] == TASK and r["data"] == data)
    names = {name: protocol_name(name) for name in there if AFTER in name}
    published = PUBLISHED.tables["table_1"]
    return [
        results_table(records, published.of_ours(f"Answer selection, {name}").by_protocol(protocol), data)
        for protocol, name in names.items()
    ]


def _worse_fine_tuned(records: Sequence[Record], data: str) -> list[str]:
    """What it means where a model ranks better frozen than fine-tuned."""
    found = []
    for variant, label in LABELS.items():
        frozen, tuned = (by_seed(records, variant, Place(TASK, data, how, "map")) for how in ("frozen", "grouped"))
        if frozen and tuned and mean(frozen.values()) > mean(tuned.values()):
            found.append(f"{label} (frozen {mean(frozen.values()):.1f}, fine-tuned {mean(tuned.values()):.1f})")
    if not found:
        return []
    return [
        f"Better frozen than fine-tuned, by MAP: {'; '.join(found)}. Frozen, texts are read one by one and their "
        "vectors compared; fine-tuned, question and candidates are read together, and to judge them so was not learned "
        "from the task's questions alone."
    ]
