"""The page of Cross-Thought."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from contexture.reporting.attended_sequences import attention_picture, attention_table, cases_table
from contexture.reporting.default_page import every_table
from contexture.reporting.names import DATA
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.published import PublishedTable
from contexture.reporting.records import Record, data_of
from contexture.reporting.tables import Comparison, compare, comparison_table
from contexture.reporting.task_tables import task_tables
from contexture.reporting.training_tables import trainings_table
from contexture.systems.cross_thought.published import COMPARISONS, LABELS, TABLE_2, TABLE_3

TITLE = "Cross-Thought: sequences that help each other guess their masked words"
NOTE = (
    "Ours: encoders of the sizes above, trained on the text above. The paper's have RoBERTa-base's size, are trained "
    "on Wikipedia for 125,000 steps of 128 samples of 500 sequences, and are fine-tuned on each set's whole training "
    "part. Unless the configuration says the same, the numbers are not comparable; what can be compared is the order "
    "of the rows."
)
TABLE_4 = "Table 4: which other sequences a masked word attends to"
PICTURE = "attended_sequences"
TO_READ = (
    "The deeper the colour, the more the sequence with the masked word attends to another. Where training has found "
    "what helps, that is the one with the ring."
)
#: What is compared seed by seed on every set that was measured: task, protocol, metric, and how it is said.
MEASURED = (
    ("ranking", "frozen", "recall_at_1", "ranking without fine-tuning"),
    ("ranking", "finetuned", "recall_at_1", "ranking, fine-tuned"),
    ("pairs", "frozen", "accuracy", "sentence pairs, frozen"),
    ("pairs", "finetuned", "accuracy", "sentence pairs, fine-tuned"),
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's Tables 2, 3 and 4, every number of ours, and the gains over the baselines.

    Raises:
        ValueError: for trainings with keys missing.
    """
    gains = [gain for measured in MEASURED for gain in _gains(records, *measured)]
    labels = {**LABELS, **context.labels}
    runs = [run for run in dict.fromkeys([*labels, *context.shown]) if "cross_thought" in context.shown.get(run, {})]
    shown = {run: context.shown[run]["cross_thought"] for run in runs}
    return Page(
        findings=[
            f"{gain.setting[0].upper()}{gain.setting[1:]}: {gain.sentence}"
            for gain in gains
            if gain.variant == LABELS["ct_1_64"]
        ],
        sections=[
            *sections(task_tables(records, TABLE_2)),
            *sections(task_tables(records, TABLE_3)),
            *sections(every_table(records, labels)),
            *sections([comparison_table(gains)]),
            *_attended(shown, labels),
            *sections([trainings_table(context.trainings, labels, "Samples")]),
        ],
        figures={PICTURE: attention_picture(next(iter(shown.values()))["cases"])} if shown else {},
        variants=(*LABELS,),
    )


def _attended(shown: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str]) -> list[Section]:
    """The paper's Table 4: numbers of all runs; of the first a picture, and the sequences in it."""
    if not shown:
        return []
    first = next(iter(shown))
    return [
        *sections([attention_table(TABLE_4, shown, labels)]),
        Section(f"Masked words of {labels.get(first, first)}", figures=[PICTURE], text=TO_READ),
        *sections([cases_table("What these sequences say", shown[first]["cases"])]),
    ]


def _gains(records: Sequence[Record], task: str, protocol: str, metric: str, said: str) -> list[Comparison]:
    """How far variants are above their baselines, set by set."""
    found: list[Comparison] = []
    measured = [r for r in records if (r["task"], r["protocol"], r["metric"]) == (task, protocol, metric)]
    for data in data_of(measured):
        ours = PublishedTable("", "", task, data, (), (metric,), protocol, LABELS)
        gains = compare(measured, ours, data, COMPARISONS, metric)
        found += [replace(gain, setting=f"{said}, {DATA.get(data, data)}") for gain in gains]
    return found
