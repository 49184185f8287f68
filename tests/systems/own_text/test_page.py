"""The page of one's own text: what it says of every outcome."""

from typing import Any

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import Report, render_report
from contexture.systems.own_text.page import NOTE, TITLE, page
from tests.reporting.make import TRAINING, measured

MEANS = {"bm25": 0.5, "static": 0.55, "static+bm25": 0.625, "static_none": 0.45, "static_none+bm25": 0.5}
FACTS: dict[str, Any] = {
    "documents": 90,
    "passages": 400,
    "held_out": 9,
    "asked": {"headings": 30, "links": 3, "sentences": 1200, "questions": 0},
    "least": 10,
    "unknown": [],
}
EXAMPLES = {
    "ict": {"pairs": 1200, "mean_query_tokens": 20.4},
    "headings": {"pairs": 34, "mean_query_tokens": 5.6},
    "wlp": {"pairs": 0, "mean_query_tokens": 0.0},
}


def told(take: str, best: str, gain: list[float], means: dict[str, float] = MEANS, **others: Any) -> dict[str, Any]:
    advice: dict[str, Any] = {"take": take, "best": best, "encoder": "static", "means": means, "gain": gain}
    advice["basis"] = ["headings", "sentences"]
    return FACTS | {"advice": advice} | others


def records(means: dict[str, float] = MEANS) -> list[Record]:
    return [
        one
        for metric in ("ndcg_at_10", "recall_at_1", "recall_at_10", "recall_at_100")
        for variant, value in means.items()
        for one in measured(variant, [value], "held_out", "headings", "frozen", metric, system="own_text")
    ]


def render(facts: dict[str, Any], rows: list[Record] | None = None) -> Report:
    context = ReportContext(
        system="own_text",
        title=TITLE,
        note=NOTE,
        facts={"held_out": facts},
        examples=EXAMPLES,
        trainings={"static": TRAINING},
    )
    return render_report(records() if rows is None else rows, [], context, page)


def test_what_is_better_is_to_be_taken() -> None:
    report = render(told("static+bm25", "static+bm25", [0.125, 0.05, 0.2]))
    (card,) = report.page.cards
    assert card.headline == "Static encoder with BM25"
    assert card.subtitle == "by 1,230 questions: a heading → its section, a sentence → the rest of its passage"
    assert card.sentences == [
        "+12.5 points of nDCG@10 over BM25 (95%: +5.0 to +20.0).",
        'To search with it: contexture search "your question"',
    ]
    assert [(bar.label, bar.value, bar.best) for bar in card.bars] == [
        ("BM25", 50.0, False),
        ("Static encoder", pytest.approx(55), False),
        ("Static encoder with BM25", 62.5, True),
    ]
    for text in (report.markdown, report.html):
        assert "Static encoder with BM25" in text and "12.5 points of nDCG@10 over BM25" in text
    vectors = render(told("static", "static", [0.05, 0.01, 0.09])).page.cards[0]
    assert vectors.headline == "Static encoder" and "contexture search --by vectors" in vectors.sentences[1]


def test_what_may_be_no_better_is_not() -> None:
    (card,) = render(told("bm25", "static+bm25", [0.125, -0.01, 0.26])).page.cards
    assert card.headline == "BM25" and [bar.best for bar in card.bars] == [True, False, False]
    assert card.sentences == [
        "Static encoder with BM25 is +12.5 points of nDCG@10 above BM25, but so few questions do not settle it "
        "(95%: -1.0 to +26.0).",
        'To search with it: contexture search --by words "your question"',
    ]


def test_bm25_may_be_the_best() -> None:
    (card,) = render(told("bm25", "bm25", [0.0, 0.0, 0.0], MEANS | {"bm25": 0.9})).page.cards
    assert card.headline == "BM25"
    assert card.sentences[0] == "Nothing that was trained here finds more than BM25 does."
    assert card.bars[0].value == pytest.approx(90) and len(card.bars) == 3


def test_a_text_that_is_too_small_to_tell() -> None:
    report = render(FACTS, [])
    (card,) = report.page.cards
    assert card.headline == "This text is too small to tell" and not card.bars
    assert card.subtitle == "9 of 90 documents were held out"
    assert card.sentences[0].startswith("No kind of question was found 10 times")
    assert "contexture search --by words" in report.html


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (0.55, "it raised nDCG@10 by 10.0 points (45.0 before)."),
        (0.325, "it lowered nDCG@10 by 12.5 points (45.0 before): take it as it was before."),
        (0.45, "it left nDCG@10 as it was (45.0 before)."),
        (0.4497, "it left nDCG@10 as it was (45.0 before)."),
    ],
)
def test_whether_learning_helped(after: float, said: str) -> None:
    report = render(told("bm25", "bm25", [0, 0, 0], MEANS | {"static": after}))
    assert report.page.findings[1:-1] == [f"Static encoder: learning from this text: {said}"]


def test_an_encoder_that_learning_lowered_is_taken_as_it_was() -> None:
    means = {"bm25": 0.5, "published": 0.6, "published+bm25": 0.6, "published_none": 0.75, "published_none+bm25": 0.7}
    facts = told("published_none", "published_none", [0.25, 0.2, 0.3], means)
    facts["advice"]["encoder"] = "published_none"
    made = render(facts, records(means)).page
    assert made.cards[0].headline == "Published encoder, as it was published"
    assert made.findings[1].startswith("Published encoder, continued on this text: learning from this text: it lowered")


def test_what_was_learned_from_and_what_is_next() -> None:
    findings = render(told("bm25", "bm25", [0, 0, 0])).page.findings
    assert findings[0] == (
        "What the text gives away: 1,234 pairs: 1,200 of a sentence and the rest of its passage; 34 of a heading and "
        "what stands below it."
    )
    assert findings[-1].startswith("Next: write twenty questions")
    asked = {"headings": 30, "links": 0, "sentences": 40, "questions": 20}
    names = ["a", "b", "c", "d"]
    findings = render(told("bm25", "bm25", [0, 0, 0], asked=asked, unknown=names)).page.findings
    assert findings[-1] == "4 answers in the file of questions name no document of this text: a, b, c, …."


def test_tables() -> None:
    report = render(told("static", "static", [0.1, 0.05, 0.2]))
    tables = {section.title: section.table for section in report.page.sections}
    table = tables["nDCG@10 by kind of question"]
    assert table is not None and [column.name for column in table.columns] == ["Search", "a heading → its section"]
    assert table.rows[2] == ("Static encoder with BM25", "62.5") and table.bold == {(2, 1)}
    assert {"R@1 by kind of question", "R@10 by kind of question", "R@100 by kind of question"} <= set(tables)
    pairs = tables["What the text gives away"]
    assert pairs is not None and pairs.rows[:2] == (
        ("a sentence and the rest of its passage", "1,200", "20"),
        ("a heading and what stands below it", "34", "6"),
    )
