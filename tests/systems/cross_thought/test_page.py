"""The page of Cross-Thought: the paper's tables beside ours."""

from dataclasses import replace

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import render_report
from contexture.systems.cross_thought.page import (
    LABELS,
    NOTE,
    PICTURE,
    PUBLISHED,
    SAMPLE,
    TABLE_4,
    TITLE,
    attention_findings,
    page,
)
from tests.reporting.make import TRAINING
from tests.reporting.make import measured as measure

CONTEXT = ReportContext(
    system="cross_thought", title=TITLE, note=NOTE, trainings={"ct_1_64": TRAINING}, facts={"ranking": {"name": "demo"}}
)


def measured(variant: str, values: list[float], task: str, data: str, protocol: str, metric: str) -> list[Record]:
    return measure(variant, values, task, data, protocol, metric, system="cross_thought")


RECORDS = [
    *measured("ct_1_64", [0.30, 0.32, 0.34], "ranking", "demo", "frozen", "recall_at_1"),
    *measured("mlm_64", [0.20, 0.20, 0.22], "ranking", "demo", "frozen", "recall_at_1"),
    *measured("ct_1_64", [0.70], "pairs", "snli", "finetuned", "accuracy"),
    *measured("mlm_64", [0.60], "pairs", "snli", "finetuned", "accuracy"),
    *measured("ct_1_64", [0.55], "ranking", "hotpotqa", "frozen", "recall_at_20"),
    *measured("bm25", [0.5], "ranking", "demo", "frozen", "recall_at_1"),
]


def test_gains_are_told_set_by_set() -> None:
    rendered = render_report(RECORDS, [], CONTEXT, page).page
    assert any("+11.3" in one and "masked LM-1-64" in one and "made-up world" in one for one in rendered.findings)
    assert any("+10.0" in one and "SNLI" in one and "fine-tuned" in one for one in rendered.findings)


def test_attention_is_compared_with_chance_and_the_better_cosine() -> None:
    place = ("ranking", "demo")
    records = [
        *measured("ct_1_64", [0.2, 0.3, 0.4], *place, "by_attention", "recall_at_20"),
        *measured("mlm_64", [0.1, 0.1, 0.1], *place, "by_cosine", "recall_at_20"),
        *measured("random", [0.3, 0.2, 0.4], *place, "by_cosine", "recall_at_20"),
    ]
    over = {"variants": {"ct_1_64": {"over_chance": {"recall_at_20": [0.28, 0.25, 0.31]}}}}
    confidence = {"demo": {"by_attention": {"chance": {"recall_at_20": 0.02}} | over}}
    (sentence,) = attention_findings(records, confidence)
    assert "R@20 30.0, significantly above chance (2.0); by cosine untrained has 30.0" in sentence
    over["variants"]["ct_1_64"]["over_chance"]["recall_at_20"][1] = -0.01
    assert "not significantly above chance" in attention_findings(records, confidence)[0]
    assert attention_findings(records[:3], confidence)[0].endswith("chance (2.0).")
    assert attention_findings(records[3:], confidence) == []


def test_the_papers_table_has_ours_of_every_set_in_its_column() -> None:
    sections = render_report(RECORDS, [], CONTEXT, page).page.sections
    tables = {section.title: section.table for section in sections if section.table is not None}
    table = tables[PUBLISHED.tables["table_2"].title]
    rows = {row[0]: row for row in table.rows if row[1] != "paper"}
    assert rows["Cross-Thought-1-64"][2:] == ("–", "–", "70.0", "–", "–", "–", "55.0")
    assert rows["Masked LM-1-64"][4] == "60.0"
    paper = {row[0]: row[2:] for row in table.rows if row[1] == "paper"}
    assert paper["Cross-Thought-5-64"] == ("76.8", "76.6", "86.8", "90.3", "48.5", "88.9", "56.5")
    assert paper["Masked LM (160G)"][-1] == "10.0" and len(paper) == 10
    assert "Answer ranking" in " ".join(tables)


def test_the_published_masked_language_model_has_a_row_of_ours_only_if_it_was_measured() -> None:
    def find_rows(records: list[Record]) -> dict[str, list[str]]:
        sections = render_report(records, [], CONTEXT, page).page.sections
        tables = {section.title: section.table for section in sections if section.table is not None}
        return {
            title: [row[1] for row in table.rows if row[0] == "Masked LM (160G)"]
            for title, table in tables.items()
            if any(row[0] == "Masked LM (160G)" for row in table.rows)
        }

    assert find_rows(RECORDS) == {PUBLISHED.tables["table_2"].title: ["paper"]}
    published = measured("mlm_160g", [0.71], "pairs", "snli", "finetuned", "accuracy")
    assert find_rows([*RECORDS, *published])[PUBLISHED.tables["table_2"].title] == ["paper", "ours, 1 seed"]


CASE = {
    "word": "castle", "place": 1, "with_word": 2, "weights": [0.25, None, 0.65, 0.1],
    "masked": "near the ▢", "most": "a castle", "holder": "a castle",
}  # fmt: skip
SHOWN = {
    "words": 1200,
    "first": 0.5,
    "chance": 1 / 3,
    "times": 1.95,
    "cases": [CASE, CASE | {"with_word": 0, "holder": "castles"}],
    "sample": {"documents": [0, 0, 1], "weights": [[0, 1.5, 0.5], [1.8, 0, 0.2], [1, 1, 0]]},
}


def test_what_masked_words_attend_to_is_seen() -> None:
    seen = {"cross_thought": SHOWN}
    context = replace(CONTEXT, shown={"mine": seen, "ct_1_64": seen, "mlm_64": {}})
    found = render_report(RECORDS, [], context, page)
    tables = {section.title: section.table for section in found.page.sections if section.table is not None}
    assert tables[TABLE_4].rows == tuple(
        (name, "1,200", "50.0", "33.3", "1.95") for name in ("Cross-Thought-1-64", "mine")
    )
    texts = tables["What these sequences say"].rows
    assert [row[2:] for row in texts] == [("a castle (0.650)", "the same"), ("a castle (0.650)", "castles (0.250)")]
    (axes, _) = found.page.figures[PICTURE].axes
    drawn = axes.images[0].get_array()
    assert drawn is not None and drawn.mask.tolist() == [[False, True, False, False]] * 2
    assert drawn[0].compressed().tolist() == pytest.approx([0.75, 1.95, 0.3])
    rings = axes.lines[0].get_xdata()
    assert list(rings) == [2, 0]
    assert f"{PICTURE}.png" in found.figures
    (axes, _) = found.page.figures[SAMPLE].axes
    assert [(box.get_x(), box.get_width()) for box in axes.patches] == [(-0.5, 2), (1.5, 1)]  # type: ignore[attr-defined]
    cells = axes.images[0].get_array()
    assert cells is not None and cells[1].compressed().tolist() == [1.8, 0.2]


def test_the_paper_has_rows_of_all_variants_but_our_own() -> None:
    ours = {"random", "ct_1_64_cls", "ct_1_64_paper", "mlm_64_paper"}
    assert {row.variant for row in PUBLISHED.tables["table_2"].rows if row.variant} == set(LABELS) - ours


def test_multi_hop_answers_stand_beside_the_paper() -> None:
    """Those found by fine-tuned vectors; frozen ones have a table of their own."""
    place = ("multi_hop", "hotpotqa")
    records = [
        *measured("ct_1_64", [0.25], *place, "finetuned", "passage_em"),
        *measured("ct_1_64", [0.125], *place, "finetuned", "support_f1"),
        *measured("bm25", [0.5], *place, "frozen", "joint_f1"),
    ]
    text = render_report(records, [], ReportContext("cross_thought", TITLE, NOTE), page).markdown
    title = "Table 3: multi-hop questions, answered from what fine-tuned vectors find"
    lines = text[text.index("|", text.index(title)) :].split("\n\n")[0].splitlines()
    rows = [line.split("|")[1:-1] for line in lines]
    table = {(row[0].strip(), row[1].strip()): [cell.strip(" *") for cell in row[2:]] for row in rows}
    assert table["Recurrent Retriever", "paper"] == ["72.7", "60.5", "73.3", "49.3", "76.1"]
    assert table["Cross-Thought-1-64 + reranker + reader", "paper"] == ["80.0", "62.3", "75.1", "54.3", "78.6"]
    ours = table["Cross-Thought-1-64", "ours, 1 seed"]
    assert (ours[0], ours[-1]) == ("25.0", "12.5")
    assert "joint F1" in text and "50.0" in text and "full-wiki" in text
