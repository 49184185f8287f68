"""The page of MSPP."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from contexture.reporting.default_page import further
from contexture.reporting.names import AFTER, protocol_name
from contexture.reporting.page import Page, ReportContext, sections
from contexture.reporting.records import Place, Record, by_seed, data_of
from contexture.reporting.tables import Table, compare, comparison_table, results_table
from contexture.reporting.training_tables import trainings_table
from contexture.systems.mspp import fact_verification
from contexture.systems.mspp.further_tables import latency_table, rescued_table, sets_table
from contexture.systems.mspp.published import COMPARISONS, FROZEN, LABELS, TASK, tables

TITLE = "MSPP joint transformers: choosing answers, verifying claims"
NOTE = (
    "Ours: encoders of the sizes above, trained on the text above. The paper continues RoBERTa-base (12 layers × 768, "
    "pre-trained on 160 GB of text) for 100,000 steps of 4,096 examples and fine-tunes on the real WikiQA. Unless "
    "the configuration says the same, the numbers are not comparable; what can be compared is the order of the rows."
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's tables and the gains in MAP over the same models without MSPP.

    Raises:
        ValueError: naming the run and what is missing of its training.
    """
    data = data_of(r for r in records if r["task"] == TASK)
    # Without numbers of ours, the paper's of WikiQA stand alone.
    published = {name: tables(name) for name in data or ["wikiqa"]}
    gains, reranked = (
        [gain for name in data for gain in compare(records, published[name][place], name, COMPARISONS, "map")]
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
        frozen = results_table(records, FROZEN, name)
        made.append(replace(frozen, caption=" ".join([frozen.caption, *_worse_fine_tuned(records, name)])))
    made += fact_verification.tables(records, context.whole)
    on_claims = fact_verification.gains(records)
    facts = context.facts.get(TASK, {})
    more = [sets_table(facts["counts"])] if facts.get("counts") else []
    more += [rescued_table(name, told) for name, told in facts.get("rescued", {}).items()]
    more += [latency_table(name, told) for name, told in facts.get("latency", {}).items()]
    return Page(
        findings=[*(gain.sentence for gain in gains), *fact_verification.findings(records)],
        sections=[
            *sections([*made, comparison_table([*in_turn, *on_claims]), *more]),
            *further(records, [TASK, fact_verification.TASK], LABELS),
            *sections([trainings_table(context.trainings, {**LABELS, **context.labels})]),
        ],
        variants=(*LABELS,),
    )


def _transferred(records: Sequence[Record], data: str) -> list[Table]:
    """What models reached that had learned from another set before (TANDA), a table a protocol."""
    there = dict.fromkeys(r["protocol"] for r in records if r["task"] == TASK and r["data"] == data)
    names = {name: protocol_name(name) for name in there if AFTER in name}
    return [
        results_table(records, replace(FROZEN, title=f"Answer selection, {name}", protocol=protocol, remark=""), data)
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
