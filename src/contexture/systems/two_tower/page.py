"""The page of two-tower retrieval."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from contexture.reporting.default_page import remaining_sections
from contexture.reporting.names import DATA
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.published import ScoreTable, read_published
from contexture.reporting.records import Record, ScoreKey, list_data, values_by_seed
from contexture.reporting.tables import Table, comparison_table, results_table, results_tables
from contexture.reporting.task_tables import compare
from contexture.reporting.training_tables import trainings_table
from contexture.systems.two_tower.recall_curves import Panels, recall_curves
from contexture.systems.two_tower.tables import (
    ABLATION_SUFFIX,
    TASK,
    ablation_table,
    index_table,
    pairs_table,
    sets_table,
    speed_table,
)
from contexture.tasks.retrieval.config import RECALL_AT

PUBLISHED = read_published("contexture.systems.two_tower")
TITLE, NOTE, LABELS = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels
#: Of the colours: each pre-training task has one, and the BoW-MLPs, dotted, have those of their tasks.
ORDER = (
    *("ict_bfs_wlp", "none", "ict", "bfs", "mlm", "wlp", "bm25", "static_ict", "static_none"),
    *("static_ict_bfs_wlp", "bow_mlp_ict_bfs_wlp", "bow_mlp_none"),
)
#: The set whose published numbers are shown before anything was run.
DEFAULT_SET = "squad"
#: What models are compared by.
COMPARED = "recall_at_10"
#: What follows the share trained on in the names of protocols of the set grown by other candidates (Table 6).
OPEN_SUFFIX = " open"
PAPER_SHARES = ("1%", "5%", "80%")
CAPTION = "Means over seeds; one panel for each share of the questions trained on. Dashed: BM25."


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's Tables 1 to 6 beside ours, as far as ours are there, and R@k over k.

    Raises:
        ValueError: naming the record, where a protocol is neither "frozen" nor begins with the share of the questions
            trained on, such as "1%", or a variant of the ablation is not named as `ablation_table` reads it; for facts
            with keys missing.
    """
    measured = [r for r in records if r["task"] == TASK]
    shares = _shares(measured)
    headings = {share: f"{share} of the questions trained on" for share in shares}
    open_headings = {
        f"frozen{OPEN_SUFFIX}": "Without fine-tuning",
        **{share + OPEN_SUFFIX: headings[share] for share in shares},
    }
    gains, ablations, figures = [], [], {}
    main: list[Table | Section] = []
    for data in list_data(measured) or [DEFAULT_SET]:
        published = PUBLISHED.tables["table_4" if data == "natural_questions" else "table_3"]
        gains += [
            g for share in shares for g in compare(measured, published, data, PUBLISHED.comparisons, COMPARED, share)
        ]
        main.append(results_table(measured, published, data, headings, context.full_command))
        if panels := _panels(measured, data, headings):
            figures[f"recall_{data}"] = recall_curves(panels, LABELS, ORDER)
            main.append(Section(f"R@k on {DATA.get(data, data)}", figures=[f"recall_{data}"], text=CAPTION))
        main.append(results_table(measured, _frozen(published), data))
        main.append(results_table(measured, _any_passage(published), data, headings))
        ablations.append(_ablation(measured, data, context))
    details = context.details.get(TASK, {})
    return Page(
        findings=[
            *(
                f"With {gain.setting.split(', ')[1]} of the questions, {gain.sentence}"
                for gain in gains
                if gain.setting == gains[0].setting
            ),
            *_missing_pairs_findings(context.examples),
        ],
        sections=sections(
            [
                *main,
                comparison_table(gains),
                *ablations,
                *_open_domain_tables(measured, open_headings),
                pairs_table(context.examples, PUBLISHED),
                sets_table({details["name"]: details["counts"]} if details.get("counts") else {}, PUBLISHED),
                index_table(details.get("indexes", ())),
                speed_table(details.get("speeds", ())),
                trainings_table(context.trainings, {**LABELS, **context.labels}, "Pairs"),
                *remaining_sections(records, [TASK], LABELS),
            ]
        ),
        figures=figures,
        variants=ORDER,
    )


def _frozen(published: ScoreTable) -> ScoreTable:
    """Towers as pre-training left them, which the paper leaves out."""
    note = "The encoders as pre-training left them; all questions are asked."
    return published.without_paper("Without fine-tuning", note).with_protocol("frozen")


def _any_passage(published: ScoreTable) -> ScoreTable:
    """The laxer count, which the paper leaves out."""
    note = "Also right: another passage that has a sentence of the same text."
    columns = tuple(replace(column, metric=f"sentence_{column.metric}") for column in published.columns)
    return replace(published.without_paper("The gold sentence in any passage", note), columns=columns)


def _shares(records: Iterable[Record]) -> list[str]:
    """The shares of the paper and of the records, from the smallest."""
    shares = set(PAPER_SHARES)
    for record in records:
        match = re.fullmatch(rf"(frozen|\d+(?:\.\d+)?%)(?:{OPEN_SUFFIX}|({ABLATION_SUFFIX}))?", record["protocol"])
        if not match:
            raise ValueError(
                "a protocol of retrieval is 'frozen' or begins with the share of the questions trained on, such as "
                f"'1%': {record!r}"
            )
        if match[1] != "frozen" and not match[2]:
            shares.add(match[1])
    return sorted(shares, key=lambda share: float(share.rstrip("%")))


def _panels(records: Sequence[Record], data: str, headings: Mapping[str, str]) -> Panels:
    """Every variant's recall by k, of the shares that have some."""
    panels: dict[str, dict[str, dict[int, list[float]]]] = {}
    for share, title in headings.items():
        for variant in dict.fromkeys(r["variant"] for r in records if (r["data"], r["protocol"]) == (data, share)):
            keys = {k: ScoreKey(TASK, data, share, f"recall_at_{k}") for k in RECALL_AT}
            recalls = {k: [*values_by_seed(records, variant, key).values()] for k, key in keys.items()}
            if any(recalls.values()):
                panels.setdefault(title, {})[variant] = {k: values for k, values in recalls.items() if values}
    return panels


def _open_domain_tables(records: Sequence[Record], headings: Mapping[str, str]) -> Sequence[Table | Section]:
    published = PUBLISHED.tables["table_6"]
    if not any(r["protocol"] in headings for r in records):
        return [Section(published.title, text="Not run: the questions were asked of their own candidates alone.")]
    return results_tables(records, published, headings)


def _ablation(records: Sequence[Record], data: str, context: ReportContext) -> Table | Section:
    table = ablation_table(records, data, PUBLISHED)
    missing = Section(table.title, text=f"Not run: kedro run --pipelines {context.system}_ablation makes it.")
    return table if table.rows else missing


def _missing_pairs_findings(pairs: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What must be known of rows whose pre-training task found no pair in the text."""
    return [
        f"This text has no pairs of {LABELS.get(task, task)}: the row of that name was not pre-trained, and mixtures "
        "are of the other tasks."
        for task, counted in pairs.items()
        if not counted["pairs"]
    ]
