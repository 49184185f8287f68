from dataclasses import replace
from itertools import pairwise

import pytest

from contexture.reporting.curves import to_png
from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.systems.league.page import NOTE, TITLE, page
from contexture.systems.league.pictures import scatter, spread_labels
from contexture.systems.league.scores import League
from contexture.systems.league.tables import (
    MAX_LINE_CHARS,
    MAX_LINES,
    costs_table,
    gains_table,
    league_text,
    standings_table,
)
from tests.reporting.golden import check_page
from tests.systems.league.toys import RECORDS, costly, league

LABELS = {"mlm": "MLM", "ict": "ICT", "bfs": "BFS", "bm25": "BM25", "random": "Random network"}
FACTS = {"explained": {"mlm": "guesses masked words"}, "speed": {"mlm": 1000.0, "ict": 1200.0}}


def test_the_table() -> None:
    table = standings_table(League(RECORDS, LABELS), {"mlm": "guesses masked words"})
    assert [(column.group, column.name) for column in table.columns[1:]] == [
        ("Search: R@10", "frozen"),
        ("Search: R@10", "fine-tuned on 80%"),
        ("Classification: accuracy", "mean of 2 tasks"),
    ]
    # standard deviations 2, 2.65, 1 and 10; times t = 4.303 over √3
    assert table.rows == (
        ("ICT", "42.0 ±5.0", "51.0 ±2.5", "–"),
        ("BFS", "41.0 ±6.6", "–", "–"),
        ("MLM", "12.0 ±5.0", "51.0 ±2.5", "70.0 ±24.8"),
        ("two towers: ict", "20.0 ±0.0", "–", "–"),
        ("BM25", "30.0", "30.0", "–"),  # nothing is fine-tuned of it: one score for both
        ("Random network", "5.0 ±2.5", "–", "–"),
    )
    assert table.bold == {(0, 1), (0, 2), (2, 2)}  # what is alike as shown is best alike; a single number is no best
    assert list(table.headings) == [0, 3, 4]
    assert table.notes == {2: "guesses masked words"}
    assert table.shades[0, 1] == 1.0
    assert table.shades[5, 1] == table.shades[4, 2] == 0.0
    assert table.shades[4, 1] == pytest.approx((30 - 5) / (42 - 5))
    assert "3 seeds" in table.caption
    assert "repeats its score in fine-tuned columns" in table.caption
    alone = standings_table(League(league("mlm", [0.5])), {})
    assert alone.caption.startswith("One seed: differences of a few points may be luck. Bold: ")


def test_the_best_of_all_and_of_those_trained_here_are_bold() -> None:
    table = standings_table(League([*RECORDS, *league("web", [0.8], trained=False)]), {})
    assert {table.rows[row][0] for row, column in table.bold if column == 1} == {"web", "ict"}


def test_gains_over_the_baseline() -> None:
    table = gains_table(League(RECORDS, LABELS))
    assert table.title == "Gains over MLM"
    assert table.rows == (
        ("ICT", "+30.0", "+0.0", "–"),  # the same in all seeds: no test
        ("BFS", "+29.0*", "–", "–"),  # 29, 32, 26: t = 29/(3/√3) = 16.7
        ("two towers: ict", "+8.0*", "–", "–"),  # 10, 8, 6: t = 8/(2/√3) = 6.9, p = 0.02
        ("BM25", "+18.0*", "-21.0*", "–"),  # 20, 18, 16, its one number for every seed; -20, -22, -21
        ("Random network", "-7.0*", "–", "–"),
    )
    assert gains_table(League(league("ict", [0.5]))).rows == ()


def test_costs() -> None:
    table = costs_table(League(RECORDS, LABELS), {"bm25": 812.4})
    assert table.rows[0] == ("ICT", "1e+12", "1.0", "1.0k", "10", "5.0k", "–")
    assert table.rows[-1] == ("BM25", "–", "–", "–", "–", "–", "812")
    assert "Random network" not in {row[0] for row in table.rows}


ONCE = [*costly("mlm", [0.1], steps=700), *costly("ict", [0.4], steps=1200, flops=3e12)]
CONTEXT = ReportContext("league", TITLE, NOTE)


@pytest.mark.parametrize(
    ("name", "records", "context"),
    [
        (
            "league",
            [*RECORDS, *costly("cheap", [0.2, 0.21], seconds=10.0)],
            replace(CONTEXT, labels=LABELS, details={"league": FACTS}),
        ),
        # Pictures are left out if costs do not differ and speed is not known.
        ("league-alike", RECORDS, CONTEXT),
        # One seed is a trial; nothing speaks of intervals or stars.
        ("league-once", ONCE, CONTEXT),
        ("league-twice", [*ONCE, *league("bfs", [0.3, 0.4])], CONTEXT),
        ("league-untrained", league("bm25", [0.3], trained=False), CONTEXT),
        ("league-not-run", [], CONTEXT),
    ],
)
def test_page(name: str, records: list[Record], context: ReportContext) -> None:
    check_page(name, records, context, page)


def test_a_picture_of_quality_against_cost() -> None:
    found = League(RECORDS, LABELS)
    speed = {"mlm": 100.0, "ict": 1000.0, "bfs": 0.0}
    figure = scatter(found, found.columns[0], speed, "Search", "texts a second", ["bm25", "nowhere"])
    (axes,) = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == ["12.0 MLM", "30.0 BM25", "42.0 ICT"]
    assert axes.get_xscale() == "log"
    points = {(float(line.get_xdata()[0]), round(float(line.get_ydata()[0]), 1)) for line in axes.lines}
    assert {(100.0, 12.0), (1000.0, 42.0), (0.0, 30.0)} <= points
    again = scatter(found, found.columns[0], speed, "Search", "texts a second", ["bm25", "nowhere"])
    assert to_png(figure) == to_png(again)


def test_names_are_moved_apart() -> None:
    assert spread_labels([0.1, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.5, 0.9])
    assert spread_labels([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    assert spread_labels([0.98, 1.0], 0.1) == pytest.approx([0.89, 1.0], abs=0.02)
    moved = spread_labels([0.0, 0.01, 0.02, 0.97, 0.99], 0.2)
    assert all(0 <= place <= 1 for place in moved)
    assert all(after - before > 0.199 for before, after in pairwise(moved))
    assert spread_labels([], 0.1) == []


def test_plain_text() -> None:
    assert league_text(RECORDS, LABELS).splitlines() == [
        "                               Search  Classification",
        "                   Search  fine-tuned       mean of 2",
        "                   frozen      on 80%           tasks",
        "------------------------------------------------------",
        "ICT             42.0 ±5.0*  51.0 ±2.5*              –",
        "BFS             41.0 ±6.6           –               –",
        "MLM             12.0 ±5.0   51.0 ±2.5*     70.0 ±24.8*",
        "two towers: ict 20.0 ±0.0           –               –",
        "BM25                 30.0        30.0               –",
        "Random network   5.0 ±2.5           –               –",
        "* best of its column; ± 95% interval over 3 seeds",
    ]


def test_plain_text_cuts_no_name() -> None:
    lines = league_text(RECORDS, LABELS | {"ict": "MLM + In-batch softmax + Quick-Thoughts"}).splitlines()
    (first,) = (number for number, line in enumerate(lines) if line.startswith("MLM + In-batch softmax + "))
    assert lines[first].endswith("–") and lines[first + 1] == "  Quick-Thoughts"


def test_plain_text_fits_the_end_of_a_run() -> None:
    places = [("retrieval", data, how, "recall_at_10") for data in ("demo", "squad", "own") for how in ("frozen", "1%")]
    places += [("answer_selection", data, "grouped", "map") for data in ("demo", "wikiqa", "own")]
    ours = [
        record
        for number in range(30)
        for place in places
        for record in league(f"a variant of a long name, number {number}", [0.01 * number, 0.012 * number], place)
    ]
    ours += [r for place in places for r in league("mlm", [0.001, 0.001], place)]
    lines = league_text(ours).splitlines()
    assert len(lines) == MAX_LINES
    assert max(map(len, lines)) <= MAX_LINE_CHARS
    assert any(line.startswith("mlm ") for line in lines)  # the worst, but what all are compared with
    assert lines[-1] == "* best of its column; 22 more rows in the report"
    assert league_text([]) == "No variant of the league was measured."
