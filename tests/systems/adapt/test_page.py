"""The report on a user's text, for all outcomes."""

from dataclasses import replace
from typing import Any

import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.systems.adapt import page as adapt_page
from contexture.systems.adapt.page import NOT_TRAINED, NOTE, TITLE, page
from tests.reporting.golden import check_golden, check_page
from tests.reporting.make import COST, TRAINING, measured

MEANS = {"bm25": 0.5, "static": 0.55, "static+bm25": 0.625, "static_none": 0.45, "static_none+bm25": 0.5}
OTHER = MEANS | {"other": 0.8, "other+bm25": 0.7}
PUBLISHED = {"bm25": 0.5, "published": 0.6, "published+bm25": 0.6, "published_none": 0.75, "published_none+bm25": 0.7}
QUESTION_COUNTS = {"headings": 30, "links": 3, "sentences": 1200, "questions": 0}
DETAILS: dict[str, Any] = {
    "documents": 90, "passages": 400, "held_out": 9, "asked": QUESTION_COUNTS, "least": 10, "enough": 20, "unknown": [],
}  # fmt: skip
CONTEXT = ReportContext(
    system="adapt",
    title=TITLE,
    note=NOTE,
    details={"held_out": DETAILS},
    examples={
        "ict": {"pairs": 1200, "mean_query_tokens": 20.4},
        "headings": {"pairs": 34, "mean_query_tokens": 5.6},
        "wlp": {"pairs": 0, "mean_query_tokens": 0.0},
    },
    trainings={"static": TRAINING},
)


def records(means: dict[str, float] = MEANS) -> list[Record]:
    """Records of all searches; BM25 and `other` are not trained here and have no cost."""
    untrained = ("bm25", "static+bm25", "static_none+bm25", "other", "other+bm25")
    return [
        record
        for metric in ("ndcg_at_10", "recall_at_1", "recall_at_10", "recall_at_100")
        for name, value in means.items()
        for cost in [None if name in untrained else COST]
        for record in measured(name, [value], "held_out", "headings", "frozen", metric, "test", "adapt", cost)
    ]


def make_details(
    take: str,
    best: str,
    gain: tuple[float, ...] = (0, 0, 0),
    *,
    means: dict[str, float] = MEANS,
    encoder: str = "static",
    basis: tuple[str, ...] = ("headings", "sentences"),
    learned: dict[str, Any] | None = None,
    **other: Any,
) -> dict[str, Any]:
    """Details with a recommendation; `learned` is kind of question → encoder → gain, the first kind counts."""
    learned = learned or {}
    advice = {"take": take, "best": best, "encoder": encoder, "means": means, "gain": gain, "basis": [*basis]}
    advice["gains"] = {best: gain} if best != "bm25" else {}
    advice["learned"] = next(iter(learned.values()), {})
    advice["expected"] = {name: 0.0125 for name in means if name.endswith("+bm25")}
    weights = dict.fromkeys((name for name in means if "bm25" not in name), 0.7)
    return DETAILS | {"advice": advice, "learned": learned, "weights": weights} | other


USERS = ("questions",)
RANKS = [
    {"question": "who sails?", "answers": ["en:boats"], "ranks": {"bm25": 1, "static": 3}},
    {"question": "who walks?", "answers": ["en:quays", "en:piers"], "ranks": {"bm25": None, "static": 2}},
    {"question": "who waits?", "answers": ["en:gulls"], "ranks": {"bm25": 12, "static": None}},
]
UP, DOWN, CHANCE = (0.1, 0.02, 0.18), (-0.1, -0.2, -0.01), (0.1, 0.0, 0.18)
KINDS = {
    "questions": {"static": UP}, "headings": {"static": (-0.05, -0.08, -0.02)}, "links": {"static": (0.01, 0.0, 0.02)},
}  # fmt: skip
OUTCOMES: dict[str, dict[str, Any]] = {
    "expected to be better": make_details("static+bm25", "static+bm25", (0.125, 0.05, 0.2)),
    "better, fused": make_details("static+bm25", "static+bm25", (0.125, 0.05, 0.2), basis=USERS),
    "better, by vectors": make_details("static", "static", (0.05, 0.01, 0.09), basis=USERS),
    "not better than BM25": make_details("bm25", "static+bm25", (0.125, -0.01, 0.26), basis=USERS),
    "users' questions do not decide": make_details("static+bm25", "static", (0.125, -0.01, 0.26), basis=USERS),
    "BM25 is the best": make_details("bm25", "bm25", means=MEANS | {"bm25": 0.9}),
    "raised": make_details("bm25", "bm25", basis=("headings",), learned={"headings": {"static": UP}}),
    "lowered": make_details("bm25", "bm25", basis=("headings",), learned={"headings": {"static": DOWN}}),
    "lowered, untrained used": make_details(
        "bm25", "bm25", basis=("headings",), encoder="static_none", learned={"headings": {"static": DOWN}}
    ),
    "not significant": make_details("bm25", "bm25", basis=("headings",), learned={"headings": {"static": CHANCE}}),
    "by kind of question": make_details("bm25", "bm25", basis=USERS, learned=KINDS),
    "not trained here": make_details("other", "other", (0.3, 0.2, 0.4), means=OTHER, encoder="other", basis=USERS),
    "not trained here, not recommended": make_details(
        "bm25", "other", (0.3, -0.2, 0.8), means=OTHER, encoder="other", basis=USERS
    ),
    "published, unchanged": make_details(
        "published_none", "published_none", (0.25, 0.2, 0.3), means=PUBLISHED, encoder="published_none",
        basis=USERS, learned={"headings": {"published": (-0.15, -0.2, -0.1)}},
    ),
    "few documents": make_details("bm25", "bm25", held_out=2),
    "few questions": make_details("bm25", "bm25", held_out=2, asked=QUESTION_COUNTS | {"questions": 7}),
    "few questions only": make_details(
        "bm25", "other", (0.3, 0.2, 0.4), means=OTHER, encoder="other", basis=USERS,
        asked=QUESTION_COUNTS | {"questions": 7},
    ),
    "enough questions": make_details("bm25", "bm25", held_out=2, asked=QUESTION_COUNTS | {"questions": 20}),
    "unknown answers": make_details(
        "bm25", "bm25", asked=QUESTION_COUNTS | {"questions": 20}, unknown=["a", "b", "c", "d"]
    ),
}  # fmt: skip


def test_outcomes() -> None:
    """The card and the findings of each outcome."""
    lines = []
    for name, outcome in OUTCOMES.items():
        made = page(records(outcome["advice"]["means"]), replace(CONTEXT, details={"held_out": outcome}))
        (card,) = made.cards
        bars = "; ".join(f"{bar.label} {bar.value:.1f}{' best' * bar.best}" for bar in card.bars)
        lines += [
            f"# {name}",
            f"{card.title}: {card.headline}, {card.subtitle}",
            *card.sentences,
            bars,
            *made.findings,
            "",
        ]
    check_golden("adapt-outcomes.txt", "\n".join(lines))


OWN_QUESTIONS: list[Any] = [*records(), *(record | {"data": "questions"} for record in records())]


@pytest.mark.parametrize(
    ("name", "rows", "outcome"),
    [
        ("adapt-too-small", [], DETAILS),
        ("adapt", records(), OUTCOMES["expected to be better"]),
        ("adapt-questions", OWN_QUESTIONS, OUTCOMES["by kind of question"]),
    ],
)
def test_page(name: str, rows: list[Record], outcome: dict[str, Any]) -> None:
    check_page(name, rows, replace(CONTEXT, details={"held_out": outcome}), page)


def test_a_text_without_pairs() -> None:
    examples = {"ict": {"pairs": 0, "mean_query_tokens": 0.0}}
    context = replace(CONTEXT, details={"held_out": DETAILS}, examples=examples, trainings={})
    assert page([], context).findings[0] == NOT_TRAINED


def test_the_users_questions_are_listed_worst_first(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = make_details("bm25", "bm25", basis=USERS, ranks=RANKS)
    labels = {"bm25": "BM25", "static": "Static encoder"}
    table = adapt_page.questions_table(outcome, labels)
    assert [column.name for column in table.columns] == ["Question", "Answer", "BM25", "Static encoder"]
    assert table.rows == (
        ("who walks?", "en:quays, en:piers", "–", "2"),
        ("who waits?", "en:gulls", "12", "–"),
        ("who sails?", "en:boats", "1", "3"),
    )
    assert table.caption.endswith("Worst first.")
    monkeypatch.setattr(adapt_page, "MAX_LISTED_QUESTIONS", 1)
    table = adapt_page.questions_table(outcome, labels)
    assert len(table.rows) == 1 and table.caption.endswith("The 1 worst of 3 are listed.")
    assert adapt_page.questions_table({}, labels).rows == ()


def test_scores_are_lines_of_text() -> None:
    details = make_details("static+bm25", "static+bm25", (0.125, 0.05, 0.2), basis=USERS, asked={"questions": 25})
    scores = page(records(), replace(CONTEXT, details={"held_out": details})).scores
    assert scores[0] == "nDCG@10 in percent by your 25 questions; difference to BM25 (95% interval)"
    assert [" ".join(line.split()[-5:]) for line in scores[1:]][-1] == "+12.5 (+5.0 to +20.0) recommended"
    assert [line.split("  ")[-1].strip() for line in scores[1:3]] == ["50.0", "55.0"]
