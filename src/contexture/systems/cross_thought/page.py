"""The page of Cross-Thought."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

from matplotlib.figure import Figure

from contexture.reporting.default_page import all_tables
from contexture.reporting.names import DATA
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.phrases import lower_first
from contexture.reporting.published import ScoreColumn, ScoreTable, read_published
from contexture.reporting.records import Record, list_data
from contexture.reporting.tables import Comparison, Table, comparison_table
from contexture.reporting.task_tables import compare, task_tables
from contexture.reporting.training_tables import trainings_table
from contexture.systems.cross_thought.attention import (
    attention_picture,
    attention_table,
    cases_table,
    sample_picture,
)

PUBLISHED = read_published("contexture.systems.cross_thought")
TITLE, NOTE, LABELS = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels
TABLE_4 = "Table 4: which other sequences a masked word attends to"
PICTURE, SAMPLE = "attended_sequences", "attention_over_a_sample"
SAMPLE_TEXT = (
    "Each row is a sequence of one sample, each column a sequence that it can attend to. Boxes frame the sequences of "
    "one document. If training has found which sequences help, the boxes are darker than the rest."
)
PICTURE_TEXT = (
    "The deeper the colour, the more the sequence with the masked word attends to another. Where training has found "
    "what helps, that is the one with the ring."
)
#: Variants whose cosines attention is compared with: the better one.
COSINES = ("mlm_64", "random")
#: What is compared seed by seed on every set that was measured: task, protocol, metric, and its name.
MEASURED = (
    ("ranking", "frozen", "recall_at_1", "ranking without fine-tuning"),
    ("ranking", "finetuned", "recall_at_1", "ranking, fine-tuned"),
    ("pairs", "frozen", "accuracy", "sentence pairs, frozen"),
    ("pairs", "finetuned", "accuracy", "sentence pairs, fine-tuned"),
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's Tables 2, 3 and 4, every number of ours, and the gains over the baselines."""
    gains = [gain for measured in MEASURED for gain in _gains(records, *measured)]
    labels = {**LABELS, **context.labels}
    runs = [
        run
        for run in dict.fromkeys([*labels, *context.objective_details])
        if "cross_thought" in context.objective_details.get(run, {})
    ]
    attention = {run: context.objective_details[run]["cross_thought"] for run in runs}
    return Page(
        findings=[
            *attention_findings(records, context.details.get("ranking", {}).get("confidence", {})),
            *(
                f"{gain.setting[0].upper()}{gain.setting[1:]}: {gain.sentence}"
                for gain in gains
                if gain.variant == LABELS["ct_1_64"]
            ),
        ],
        sections=sections(
            [
                *(made for table in PUBLISHED.tables.values() for made in task_tables(records, table)),
                *all_tables(records, labels),
                comparison_table(gains),
                *_attention_parts(attention, labels),
                trainings_table(context.trainings, labels, "Samples"),
            ]
        ),
        figures=_figures(next(iter(attention.values()))) if attention else {},
        variants=(*LABELS,),
    )


def attention_findings(records: Sequence[Record], confidence: Mapping[str, Any]) -> list[str]:
    """For each set, how well attention ranks without fine-tuning: compared with chance, itself untrained, and cosines.

    `confidence`: set → protocol → the chance of each metric and the intervals of each variant, of
    `tasks.ranking.ranks`.
    """
    sentences = []
    measured = [r for r in records if (r["task"], r["metric"]) == ("ranking", "recall_at_20")]
    for data in list_data(measured):
        attention = _seed_values(measured, data, "ct_1_64", "by_attention")
        cosines = {name: values for name in COSINES if (values := _seed_values(measured, data, name, "by_cosine"))}
        if not attention:
            continue
        untrained = _seed_values(measured, data, "random", "by_attention")
        start = f", untrained {mean(untrained):.1f}" if untrained else ""
        chance = _compare_with_chance(confidence.get(data, {}).get("by_attention", {}))
        sentences.append(
            f"Ranking without fine-tuning, {DATA.get(data, data)}: by attention {LABELS['ct_1_64']} has R@20 "
            f"{mean(attention):.1f}{chance}{start}{_best_cosine(cosines)}."
        )
    return sentences


def _best_cosine(cosines: Mapping[str, Sequence[float]]) -> str:
    """What the best of the variants has by cosine, to be appended to a sentence."""
    if not cosines:
        return ""
    best = max(cosines, key=lambda name: mean(cosines[name]))
    return f"; by cosine {lower_first(LABELS[best])} has {mean(cosines[best]):.1f}"


def _seed_values(records: Sequence[Record], data: str, variant: str, protocol: str) -> list[float]:
    """The scores of a variant on the test questions of a set, seed by seed, in percent."""
    wanted = (data, variant, protocol, "test")
    return [100 * r["value"] for r in records if (r["data"], r["variant"], r["protocol"], r["split"]) == wanted]


def _compare_with_chance(confidence: Mapping[str, Any]) -> str:
    """What chance gives, and whether ct_1_64 is above it with 95% confidence."""
    if not confidence:
        return ""
    lower = confidence["variants"]["ct_1_64"]["over_chance"]["recall_at_20"][1]
    verdict = "significantly above" if lower > 0 else "not significantly above"
    return f", {verdict} chance ({100 * confidence['chance']['recall_at_20']:.1f})"


def _figures(attention: Mapping[str, Any]) -> dict[str, Figure]:
    figures = {PICTURE: attention_picture(attention["cases"])}
    if attention.get("sample"):  # encoders that were trained before it was kept have none
        figures[SAMPLE] = sample_picture(attention["sample"])
    return figures


def _attention_parts(attention: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str]) -> list[Table | Section]:
    """The paper's Table 4: numbers of all runs; of the first a picture, and the sequences in it."""
    if not attention:
        return []
    first = next(iter(attention))
    sample = Section(f"Attention of {labels.get(first, first)} over a sample", figures=[SAMPLE], text=SAMPLE_TEXT)
    return [
        attention_table(TABLE_4, attention, labels),
        Section(f"Masked words of {labels.get(first, first)}", figures=[PICTURE], text=PICTURE_TEXT),
        *([sample] if attention[first].get("sample") else []),
        cases_table("What these sequences say", attention[first]["cases"]),
    ]


def _gains(records: Sequence[Record], task: str, protocol: str, metric: str, setting: str) -> list[Comparison]:
    """How far variants are above their baselines, set by set."""
    measured = [r for r in records if (r["task"], r["protocol"], r["metric"]) == (task, protocol, metric)]
    ours = ScoreTable("", (ScoreColumn(task, protocol, metric),), labels=LABELS)
    return [
        replace(gain, setting=f"{setting}, {DATA.get(data, data)}")
        for data in list_data(measured)
        for gain in compare(measured, ours, data, PUBLISHED.comparisons, metric)
    ]
