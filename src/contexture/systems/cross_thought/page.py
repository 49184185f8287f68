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
from contexture.reporting.tables import Comparison, Table, comparison_table, order_by_label
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
    "Rows: sequences of one sample. Columns: sequences that they can attend to. Boxes: sequences of one document. If "
    "training has learned which sequences help, the boxes are darker than the rest."
)
PICTURE_TEXT = (
    "Darker: the sequence with the masked word attends more to another sequence. If training has learned which "
    "sequence helps, this is the one with the ring."
)
#: Attention is compared with the best cosine score of these variants.
COSINES = ("mlm_64", "untrained")
#: Task, protocol, metric and name of the comparisons on each data set.
MEASURED = (
    ("ranking", "frozen", "recall_at_1", "ranking without fine-tuning"),
    ("ranking", "finetuned", "recall_at_1", "ranking, fine-tuned"),
    ("pairs", "frozen", "accuracy", "sentence pairs, frozen"),
    ("pairs", "finetuned", "accuracy", "sentence pairs, fine-tuned"),
)


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return Cross-Thought's report page: our scores and the paper's Tables 2, 3 and 4, and gains over baselines."""
    gains = [gain for measured in MEASURED for gain in _compare_with_baselines(records, *measured)]
    labels = {**LABELS, **context.labels}
    details = context.objective_details
    runs = order_by_label([run for run in details if "cross_thought" in details[run]], labels)
    attention = {run: details[run]["cross_thought"] for run in runs}
    return Page(
        findings=[
            *attention_findings(records, context.details.get("ranking", {}).get("confidence", {})),
            *(gain.describe(gain.setting) for gain in gains if gain.variant == LABELS["ct_1_64"]),
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
        figures=_draw_attention(next(iter(attention.values()))) if attention else {},
        variants=(*LABELS,),
    )


def attention_findings(records: Sequence[Record], confidence: Mapping[str, Any]) -> list[str]:
    """Return sentences on ranking by attention without fine-tuning: scores, chance, untrained encoder and cosines.

    `confidence`: data set → protocol → chance of each metric and intervals of each variant (`tasks.ranking.ranks`).
    """
    sentences = []
    measured = [r for r in records if (r["task"], r["metric"]) == ("ranking", "recall_at_20")]
    for data in list_data(measured):
        attention = _seed_values(measured, data, "ct_1_64", "by_attention")
        cosines = {name: values for name in COSINES if (values := _seed_values(measured, data, name, "by_cosine"))}
        if not attention:
            continue
        untrained = _seed_values(measured, data, "untrained", "by_attention")
        comparison = f" Untrained: {mean(untrained):.1f}." if untrained else ""
        comparison += _describe_best_cosine(cosines) if cosines else ""
        chance = _compare_with_chance(confidence.get(data, {}).get("by_attention", {}))
        sentences.append(
            f"{LABELS['ct_1_64']} scores {mean(attention):.1f} R@20 with attention, without fine-tuning on "
            f"{DATA.get(data, data)}{chance}.{comparison}"
        )
    return sentences


def _describe_best_cosine(cosines: Mapping[str, Sequence[float]]) -> str:
    """Return a sentence with the best of the variants ranked by cosines, and its mean score."""
    best = max(cosines, key=lambda name: mean(cosines[name]))
    return f" Best with cosines: {lower_first(LABELS[best])}, {mean(cosines[best]):.1f}."


def _seed_values(records: Sequence[Record], data: str, variant: str, protocol: str) -> list[float]:
    """Return the test scores of a variant by one protocol on a data set, in percent, one per seed."""
    wanted = (data, variant, protocol, "test")
    return [100 * r["value"] for r in records if (r["data"], r["variant"], r["protocol"], r["split"]) == wanted]


def _compare_with_chance(confidence: Mapping[str, Any]) -> str:
    """Return the end of a clause: whether ct_1_64's R@20 is above chance with 95% confidence, and chance."""
    if not confidence:
        return ""
    lower = confidence["variants"]["ct_1_64"]["over_chance"]["recall_at_20"][1]
    verdict = "significantly above" if lower > 0 else "not significantly above"
    return f", {verdict} chance ({100 * confidence['chance']['recall_at_20']:.1f})"


def _draw_attention(attention: Mapping[str, Any]) -> dict[str, Figure]:
    """Return name → figure of a run's attention: of masked words and, if measured, over a whole sample."""
    figures = {PICTURE: attention_picture(attention["cases"])}
    if attention.get("sample"):  # older trainings have no sample
        figures[SAMPLE] = sample_picture(attention["sample"])
    return figures


def _attention_parts(attention: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str]) -> list[Table | Section]:
    """Return Table 4, the attention of all runs, and sections with the figures and texts of the first run."""
    if not attention:
        return []
    first = next(iter(attention))
    sample = Section(f"Attention of {labels.get(first, first)} over a sample", figures=[SAMPLE], text=SAMPLE_TEXT)
    return [
        attention_table(TABLE_4, attention, labels),
        Section(f"Masked words of {labels.get(first, first)}", figures=[PICTURE], text=PICTURE_TEXT),
        *([sample] if attention[first].get("sample") else []),
        cases_table("Text of these sequences", attention[first]["cases"]),
    ]


def _compare_with_baselines(
    records: Sequence[Record], task: str, protocol: str, metric: str, setting: str
) -> list[Comparison]:
    """Return the gains of variants over their baselines in a metric of a task and protocol, on each data set."""
    measured = [r for r in records if (r["task"], r["protocol"], r["metric"]) == (task, protocol, metric)]
    ours = ScoreTable("", (ScoreColumn(task, protocol, metric),), labels=LABELS)
    return [
        replace(gain, setting=f"{setting}, {DATA.get(data, data)}")
        for data in list_data(measured)
        for gain in compare(measured, ours, data, PUBLISHED.comparisons, metric)
    ]
