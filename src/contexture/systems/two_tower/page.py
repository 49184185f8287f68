"""The page of two-tower retrieval."""

import re
from collections.abc import Iterable, Mapping, Sequence

from contexture.reporting.page import Page, ReportContext, Section
from contexture.reporting.recall_curves import Panels, recall_curves
from contexture.reporting.records import Record
from contexture.reporting.retrieval_tables import ablation_table, index_table, pairs_table, sets_table, speed_table
from contexture.reporting.tables import Table, by_seed, compare, comparison_table, results_table
from contexture.systems.two_tower.published import (
    COMPARISONS,
    LABELS,
    RECALLS,
    SETS,
    open_table,
    recall_table,
    sentence_table,
)
from contexture.tasks.retrieval.ranks import RECALL_AT

#: Of the colours: each pre-training task has one, and the BoW-MLPs, dotted, have those of their tasks.
ORDER = ("ict_bfs_wlp", "none", "ict", "bfs", "mlm", "wlp", "bm25", "bow_mlp_ict_bfs_wlp", "bow_mlp_none")
#: The sets grown by other candidates (Table 6) and the ablation (Table 5) are tasks of these names.
OPEN, ABLATION = "_open", "_ablation"
#: The set whose published numbers are shown before anything was run.
DEFAULT_SET = "squad"
#: What models are compared by.
COMPARED = "recall_at_10"
PAPER_SHARES = ("1%", "5%", "80%")
CAPTION = "Means over seeds; one panel for each share of the questions trained on. Dashed: BM-25. Dotted: BoW-MLP."


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's Tables 1 to 6 beside ours, as far as ours are there, and R@k over k.

    Raises:
        ValueError: naming the record, where a split is no share of the questions, such as "1%", or a variant of the
            ablation is not named as `ablation_table` reads it; for counts or speeds with keys missing.
    """
    shares = _shares(records)
    headings = {share: f"{share} of the questions trained on" for share in shares}
    names = dict.fromkeys(r["task"].removesuffix(OPEN).removesuffix(ABLATION) for r in records)
    gains, main, beside, figures = [], [], [], {}
    for name in names or [DEFAULT_SET]:
        published = recall_table(name)
        gains += [gain for share in shares for gain in compare(records, published, COMPARISONS, COMPARED, share)]
        main.append(_section(results_table(records, published, headings)))
        if panels := _panels(records, name, headings):
            figures[f"recall_{name}"] = recall_curves(panels, LABELS, ORDER)
            main.append(Section(f"R@k on {SETS.get(name, name)}", figure=f"recall_{name}", text=CAPTION))
        main += _sections([results_table(records, sentence_table(name), headings)])
        beside.append(_ablation(records, name + ABLATION, context))
        beside.append(_open(records, name + OPEN, headings, context))
    facts = context.retrieval
    counted = [pairs_table(facts.pairs), sets_table(facts.sets), index_table(facts.indexes), speed_table(facts.speeds)]
    return Page(
        findings=[
            f"With {gain.setting.split(', ')[1]} of the questions, {gain.sentence}"
            for gain in gains
            if gain.setting == gains[0].setting
        ],
        sections=[*main, *_sections([comparison_table(gains)]), *beside, *_sections(counted)],
        figures=figures,
        variants=ORDER,
    )


def _shares(records: Iterable[Record]) -> list[str]:
    """The shares of the paper and of the records, from the smallest."""
    for record in records:
        if not re.fullmatch(r"\d+(\.\d+)?%", record["split"]):
            raise ValueError(
                f"a split of {record['system']} is the share of the questions trained on, such as '1%': {record!r}"
            )
    shares = {r["split"] for r in records if not r["task"].endswith(ABLATION)} | set(PAPER_SHARES)
    return sorted(shares, key=lambda share: float(share.rstrip("%")))


def _panels(records: Sequence[Record], task: str, headings: Mapping[str, str]) -> Panels:
    """Every variant's recall by k, of the shares that have some."""
    panels: dict[str, dict[str, dict[int, list[float]]]] = {}
    for share, title in headings.items():
        for variant in dict.fromkeys(r["variant"] for r in records if (r["task"], r["split"]) == (task, share)):
            found = {
                k: list(by_seed(records, variant, task, share, metric).values())
                for k, metric in zip(RECALL_AT, RECALLS, strict=True)
            }
            if any(found.values()):
                panels.setdefault(title, {})[variant] = {k: values for k, values in found.items() if values}
    return panels


def _open(records: Sequence[Record], task: str, headings: Mapping[str, str], context: ReportContext) -> Section:
    published = open_table(task)
    if not any(r["task"] == task for r in records):
        return _absent(published.title, task, context)
    return _section(results_table(records, published, headings))


def _ablation(records: Sequence[Record], task: str, context: ReportContext) -> Section:
    table = ablation_table(records, task, SETS.get(task.removesuffix(ABLATION), task))
    return _section(table) if table.rows else _absent(table.title, task, context)


def _absent(title: str, task: str, context: ReportContext) -> Section:
    command = context.retrieval.commands.get(task)
    return Section(title, text=f"Not run{f': {command} makes it' if command else f', there are no records of {task}'}.")


def _sections(tables: Iterable[Table]) -> list[Section]:
    return [_section(table) for table in tables if table.rows]


def _section(table: Table) -> Section:
    return Section(table.title, table)
