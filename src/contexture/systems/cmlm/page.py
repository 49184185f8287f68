"""The page of CMLM."""

from collections.abc import Sequence

from contexture.reporting.default_page import every_table
from contexture.reporting.names import PROTOCOLS
from contexture.reporting.page import Page, ReportContext, sections
from contexture.reporting.records import Record
from contexture.reporting.sentence_tables import aggregates_tables, chosen_table
from contexture.reporting.tables import Comparison, Table, comparison_table
from contexture.reporting.task_tables import compare_every, data_in, task_tables, variants_of
from contexture.reporting.training_tables import trainings_table
from contexture.systems.cmlm.published import ACCURACY, COMPARISONS, LABELS, similarity_table, transfer_tables

TITLE = "CMLM: conditional masked language model"
NOTE = (
    "Ours: encoders of the sizes above, trained on the text above and then frozen. The paper's are BERT-base and "
    "-large, trained for 1,000,000 steps of 2,048 pairs of 256 tokens on 1 TB of Common Crawl. Unless the "
    "configuration says the same, the numbers are not comparable; what can be compared is the order of the rows."
)
#: The protocols of the probes; the paper's numbers are by the first.
PROBES = ("senteval", "skip_thoughts")


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's English tables beside ours, the gains over the baselines, and what the vectors bring.

    Raises:
        ValueError: for facts or trainings with keys missing.
    """
    ran = {r["protocol"] for r in records}
    protocol = next((one for one in PROBES if one in ran), PROBES[0])
    gains = _gains(records, protocol)
    shown = {(c.task, c.protocol, c.metric) for c in transfer_tables(protocol)[0].columns}
    others = [r for r in records if (r["task"], r["protocol"], r["metric"]) not in shown and r["protocol"] != "cosine"]
    return Page(
        findings=[f"On average ({g.setting}), {g.sentence}" for g in gains if g.variant == LABELS["cmlm"]],
        sections=[
            *sections(_transfer(records, protocol)),
            *sections(task_tables(records, similarity_table())),
            *sections([comparison_table(gains)]),
            *sections(aggregates_tables(records, LABELS)),
            *sections(every_table(others, LABELS)),
            *sections([chosen_table(context.facts.get("sentences", {}).get("chosen", ()), LABELS)]),
            *sections([trainings_table(context.trainings, {**LABELS, **context.labels}, "Pairs")]),
        ],
        variants=(*LABELS,),
    )


def _transfer(records: Sequence[Record], protocol: str) -> list[Table]:
    """Table 1 of all our variants; those of ablations where ours have a row that Table 1 has not."""
    first, *ablations = transfer_tables(protocol)
    found = task_tables(records, first)
    beside = {row.variant for row in first.rows}
    for table in ablations:
        own = {row.variant for row in table.rows}
        if any((own - beside) & set(variants_of(records, table, data)) for data in data_in(records, table)):
            found += task_tables([r for r in records if r["variant"] in own], table)
    return found


def _gains(records: Sequence[Record], protocol: str) -> list[Comparison]:
    """In the mean accuracy, and in the mean correlation."""
    published, similarity = transfer_tables(protocol)[0], similarity_table()
    columns = [column for column in published.columns if column.task in ACCURACY]
    setting = f"classification tasks, {PROTOCOLS[protocol]}"
    return [
        *compare_every(records, published, columns, COMPARISONS, setting),
        *compare_every(records, similarity, similarity.columns, COMPARISONS, "similarity tasks"),
    ]
