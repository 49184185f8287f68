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
#: Order of colours: one for each pre-training task; BoW-MLPs, dotted, have the colour of their tasks.
ORDER = (
    *("ict_bfs_wlp", "none", "ict", "bfs", "mlm", "wlp", "bm25", "static_ict", "static_none"),
    *("static_ict_bfs_wlp", "bow_mlp_ict_bfs_wlp", "bow_mlp_none"),
)
#: Data set of the published numbers on a page without scores.
DEFAULT_SET = "squad"
#: Metric of comparisons.
COMPARED = "recall_at_10"
#: Ends the names of protocols with further candidates (Table 6).
OPEN_SUFFIX = " open"
PAPER_SHARES = ("1%", "5%", "80%")
CAPTION = "Means over seeds; one panel for each share of training questions. Dashed: BM25."


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return the two-tower report page: our scores and the paper's Tables 1 to 6, and R@k by k.

    Raises:
        ValueError: if a protocol neither is "frozen" nor begins with a share such as "1%", if `ablation_table` cannot
            parse a variant, or if report data have missing keys.
    """
    measured = [r for r in records if r["task"] == TASK]
    shares = _list_shares(measured)
    headings = {share: f"Fine-tuned on {share} of the questions" for share in shares}
    open_headings = {
        f"frozen{OPEN_SUFFIX}": "Without fine-tuning",
        **{share + OPEN_SUFFIX: headings[share] for share in shares},
    }
    gains, ablations, figures = [], [], {}
    main: list[Table | Section] = []
    for data in list_data(measured) or [DEFAULT_SET]:
        published = PUBLISHED.tables["table_4" if data == "natural_questions" else "table_3"]
        gains += [
            (share, gain)
            for share in shares
            for gain in compare(measured, published, data, PUBLISHED.comparisons, COMPARED, share)
        ]
        main.append(results_table(measured, published, data, headings, context.full_command))
        if panels := _collect_recalls(measured, data, headings):
            figures[f"recall_{data}"] = recall_curves(panels, LABELS, ORDER)
            main.append(Section(f"R@k on {DATA.get(data, data)}", figures=[f"recall_{data}"], text=CAPTION))
        main.append(results_table(measured, _define_frozen_table(published), data))
        main.append(results_table(measured, _define_lenient_table(published), data, headings))
        ablations.append(_ablation_section(measured, data, context))
    details = context.details.get(TASK, {})
    return Page(
        findings=[
            *(
                gain.describe(f"fine-tuned on {share} of the questions")
                for share, gain in gains
                if gain.setting == gains[0][1].setting
            ),
            *_missing_pairs_findings(context.examples),
        ],
        sections=sections(
            [
                *main,
                comparison_table([gain for _, gain in gains]),
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


def _define_frozen_table(published: ScoreTable) -> ScoreTable:
    """Return the title, columns and rows of a table of frozen encoders, which the paper does not report."""
    note = "Frozen encoders, all questions."
    return published.without_paper("Without fine-tuning", note).with_protocol("frozen")


def _define_lenient_table(published: ScoreTable) -> ScoreTable:
    """Return the title, columns and rows of a table that accepts the gold sentence in any passage, unlike the paper."""
    note = "Other passages with the same sentence count as correct, too."
    columns = tuple(replace(column, metric=f"sentence_{column.metric}") for column in published.columns)
    return replace(published.without_paper("The gold sentence in any passage", note), columns=columns)


def _list_shares(records: Iterable[Record]) -> list[str]:
    """Return the shares of training questions, such as "1%", of the paper and of our records, in ascending order."""
    shares = set(PAPER_SHARES)
    for record in records:
        match = re.fullmatch(rf"(frozen|\d+(?:\.\d+)?%)(?:{OPEN_SUFFIX}|({ABLATION_SUFFIX}))?", record["protocol"])
        if not match:
            raise ValueError(
                "protocol: expected 'frozen' or a share of the questions such as '1%', optionally followed by "
                f"'{OPEN_SUFFIX}' or '{ABLATION_SUFFIX}': {record!r}"
            )
        if match[1] != "frozen" and not match[2]:
            shares.add(match[1])
    return sorted(shares, key=lambda share: float(share.rstrip("%")))


def _collect_recalls(records: Sequence[Record], data: str, headings: Mapping[str, str]) -> Panels:
    """Return the panels of `recall_curves` for a data set: title of a share → variant → k → R@k by seed."""
    panels: dict[str, dict[str, dict[int, list[float]]]] = {}
    for share, title in headings.items():
        for variant in dict.fromkeys(r["variant"] for r in records if (r["data"], r["protocol"]) == (data, share)):
            keys = {k: ScoreKey(TASK, data, share, f"recall_at_{k}") for k in RECALL_AT}
            recalls = {k: [*values_by_seed(records, variant, key).values()] for k, key in keys.items()}
            if any(recalls.values()):
                panels.setdefault(title, {})[variant] = {k: values for k, values in recalls.items() if values}
    return panels


def _open_domain_tables(records: Sequence[Record], headings: Mapping[str, str]) -> Sequence[Table | Section]:
    """Return Table 6, retrieval among more candidates, or a section that says how to run it."""
    published = PUBLISHED.tables["table_6"]
    if not any(r["protocol"] in headings for r in records):
        return [Section(published.title, text="Not run: set two_tower.tasks.retrieval.open_domain_pairs.")]
    return results_tables(records, published, headings)


def _ablation_section(records: Sequence[Record], data: str, context: ReportContext) -> Table | Section:
    """Return Table 5, the ablation, or a section that says how to run it."""
    table = ablation_table(records, data, PUBLISHED)
    missing = Section(table.title, text=f"Not run: kedro run --pipelines {context.system}_ablation.")
    return table if table.rows else missing


def _missing_pairs_findings(pairs: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a sentence for each pre-training task of which the text has no pairs."""
    return [
        f"The text has no pairs for {LABELS.get(task, task)}: this variant is not pre-trained, and mixtures use the "
        "other tasks."
        for task, counted in pairs.items()
        if not counted["pairs"]
    ]
