from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from contexture.reporting.curves import to_png
from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record, check_records
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
    starts_table,
)
from tests.reporting.golden import check_page
from tests.systems.league.toys import RECORDS, make_costly_records, make_records

LABELS = {"mlm": "MLM", "ict": "ICT", "bfs": "BFS", "bm25": "BM25", "untrained": "Random network"}
DETAILS = {"explained": {"mlm": "predicts masked words"}, "speed": {"mlm": 1000.0, "ict": 1200.0}}
EPOCHS = {"mlm": 1.25, "ict": 12.0}
STARTS = {"mlm": "untrained", "ict": "untrained"}


def with_trainings(epochs: dict[str, float], starts: dict[str, str]) -> list[Record]:
    """Return the records with passes over the text and untrained starts of variants."""
    records = [dict(record) for record in RECORDS]
    for record in records:
        variant = record["variant"]
        record.update({"epochs": epochs[variant]} if variant in epochs else {})
        record.update({"untrained_start": starts[variant]} if variant in starts else {})
    return check_records(records)


def test_standings_table() -> None:
    table = standings_table(League(RECORDS, LABELS), {"mlm": "predicts masked words"})
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
        ("BM25", "30.0", "30.0", "–"),  # not fine-tuned: one score for both
        ("Random network", "5.0 ±2.5", "–", "–"),
    )
    assert table.bold == {(0, 1), (0, 2), (2, 2)}  # equal shown numbers are both bold; a single number is not
    assert list(table.headings) == [0, 3, 4]
    assert table.notes == {2: "predicts masked words"}
    assert table.shades[0, 1] == 1.0
    assert table.shades[5, 1] == table.shades[4, 2] == 0.0
    assert table.shades[4, 1] == pytest.approx((30 - 5) / (42 - 5))
    assert "3 seeds" in table.caption
    assert "Baselines have the same score" in table.caption
    single_seed = standings_table(League(make_records("mlm", [0.5])), {})
    assert single_seed.caption.startswith(
        "1 seed: preliminary, differences of a few points may be due to chance. Bold: "
    )


def test_best_of_all_and_best_trained_here_are_bold() -> None:
    table = standings_table(League([*RECORDS, *make_records("web", [0.8], trained=False)]), {})
    assert {table.rows[row][0] for row, column in table.bold if column == 1} == {"web", "ict"}


def test_epochs_stand_beside_the_scores() -> None:
    table = standings_table(League(with_trainings(EPOCHS, {}), LABELS), {})
    assert (table.columns[-1].group, table.columns[-1].name) == ("Training", "Epochs")
    assert {row[0]: row[-1] for row in table.rows} == {
        "ICT": "12.00", "BFS": "–", "MLM": "1.25", "two towers: ict": "–", "BM25": "–", "Random network": "–"
    }  # fmt: skip
    assert "Epochs: tokens read in training" in table.caption and all(column < 4 for _, column in table.bold)


def test_losses_on_held_out_documents_stand_beside_the_epochs() -> None:
    """As means over seeds. A mark shows that a training was stopped early."""
    losses = {"mlm": [(9.0, 6.0, False), (8.0, 5.0, False), (8.5, 5.5, True)], "ict": [(4.0, 4.5, False)] * 3}
    records: list[dict[str, Any]] = [dict(record) for record in with_trainings(EPOCHS, {})]
    for record in records:
        if record["variant"] in losses:
            start, loss, stopped = losses[record["variant"]][record["seed"]]
            record |= {"held_out_loss_start": start, "held_out_loss": loss, "stopped_early": stopped}
    table = standings_table(League(check_records(records), LABELS), {})
    assert [(column.group, column.name) for column in table.columns[-2:]] == [
        ("Training", "Epochs"),
        ("Training", "Held-out loss"),
    ]
    cells = {row[0]: row[-1] for row in table.rows}
    assert (cells["MLM"], cells["ICT"], cells["BFS"]) == ("8.50 → 5.50†", "4.00 → 4.50", "–")
    assert table.caption.count("Held-out loss: before → after training") == 1 and "†: stopped early" in table.caption
    assert "Held-out loss" not in standings_table(League(RECORDS, LABELS), {}).caption


def test_gains_over_the_untrained_start() -> None:
    """Rows without a measured start are left out."""
    table = starts_table(League(with_trainings({}, STARTS | {"bfs": "untrained_cross"}), LABELS))
    assert [column.name for column in table.columns[:2]] == ["Model", "Start"]
    assert table.rows == (
        ("ICT", "Random network", "+37.0*", "–", "–"),  # 35, 38, 38: t = 37/(1.73/√3) = 37
        ("MLM", "Random network", "+7.0*", "–", "–"),  # 5, 8, 8: t = 7
    )
    assert starts_table(League(RECORDS, LABELS)).rows == ()


def test_untrained_encoders_are_baselines() -> None:
    """Also those with another name than `untrained`: their training has no steps."""
    league = League([*RECORDS, *make_costly_records("untrained_cross", [0.6], steps=0, tokens=0, flops=0.0)])
    assert league.references == ["untrained_cross", "bm25", "untrained"]
    assert "untrained_cross" not in league.trained_variants


def test_gains_over_the_baseline() -> None:
    table = gains_table(League(RECORDS, LABELS))
    assert table.title == "Gains over MLM"
    assert table.rows == (
        ("ICT", "+30.0", "+0.0", "–"),  # equal differences: no test
        ("BFS", "+29.0*", "–", "–"),  # 29, 32, 26: t = 29/(3/√3) = 16.7
        ("two towers: ict", "+8.0*", "–", "–"),  # 10, 8, 6: t = 8/(2/√3) = 6.9, p = 0.02
        ("BM25", "+18.0*", "-21.0*", "–"),  # 20, 18, 16, one measurement for all seeds; -20, -22, -21
        ("Random network", "-7.0*", "–", "–"),
    )
    assert gains_table(League(make_records("ict", [0.5]))).rows == ()


def test_costs() -> None:
    table = costs_table(League(RECORDS, LABELS), {"bm25": 812.4})
    assert table.rows[0] == ("ICT", "1.0T", "1.0", "1,000", "10", "5,000", "–")
    assert table.rows[-1] == ("BM25", "–", "–", "–", "–", "–", "812")
    assert "Random network" not in {row[0] for row in table.rows}


ONCE = [*make_costly_records("mlm", [0.1], steps=700), *make_costly_records("ict", [0.4], steps=1200, flops=3e12)]
CONTEXT = ReportContext("league", TITLE, NOTE)


@pytest.mark.parametrize(
    ("name", "records", "context"),
    [
        (
            "league",
            [*with_trainings(EPOCHS, STARTS), *make_costly_records("cheap", [0.2, 0.21], seconds=10.0)],
            replace(CONTEXT, labels=LABELS, details={"league": DETAILS}),
        ),
        # Without figures: equal costs and unknown speed.
        ("league-equal-costs", RECORDS, CONTEXT),
        # One seed: preliminary, without intervals or tests.
        ("league-once", ONCE, CONTEXT),
        ("league-twice", [*ONCE, *make_records("bfs", [0.3, 0.4])], CONTEXT),
        ("league-untrained", make_records("bm25", [0.3], trained=False), CONTEXT),
        ("league-not-run", [], CONTEXT),
    ],
)
def test_page(name: str, records: list[Record], context: ReportContext) -> None:
    check_page(name, records, context, page, html=name == "league")


def test_scatter_plot() -> None:
    scores = League(RECORDS, LABELS)
    speed = {"mlm": 100.0, "ict": 1000.0, "bfs": 0.0}
    figure = scatter(scores, scores.columns[0], speed, "Search", "texts per second", ["bm25", "nowhere"])
    (axes,) = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == ["12.0 MLM", "30.0 BM25", "42.0 ICT"]
    assert axes.get_xscale() == "log"
    points = {(float(line.get_xdata()[0]), round(float(line.get_ydata()[0]), 1)) for line in axes.lines}
    assert {(100.0, 12.0), (1000.0, 42.0), (0.0, 30.0)} <= points
    again = scatter(scores, scores.columns[0], speed, "Search", "texts per second", ["bm25", "nowhere"])
    assert to_png(figure) == to_png(again)


def test_labels_are_spread() -> None:
    assert spread_labels([0.1, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.5, 0.9])
    assert spread_labels([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    assert spread_labels([0.98, 1.0], 0.1) == pytest.approx([0.89, 1.0], abs=0.02)
    moved = spread_labels([0.0, 0.01, 0.02, 0.97, 0.99], 0.2)
    assert all(0 <= height <= 1 for height in moved)
    assert all(upper - lower > 0.199 for lower, upper in pairwise(moved))
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
        "*: best of its column; ±: 95% confidence interval over 3 seeds",
    ]


def test_plain_text_wraps_long_labels() -> None:
    lines = league_text(RECORDS, LABELS | {"ict": "MLM + In-batch softmax + Quick-Thoughts"}).splitlines()
    (first,) = (number for number, line in enumerate(lines) if line.startswith("MLM + In-batch softmax + "))
    assert lines[first].endswith("–") and lines[first + 1] == "  Quick-Thoughts"


def test_plain_text_is_limited() -> None:
    keys = [
        ("retrieval", data, protocol, "recall_at_10")
        for data in ("demo", "squad", "own")
        for protocol in ("frozen", "1%")
    ]
    keys += [("answer_selection", data, "grouped", "map") for data in ("demo", "wikiqa", "own")]
    ours = [
        record
        for number in range(30)
        for key in keys
        for record in make_records(f"a variant of a long name, number {number}", [0.01 * number, 0.012 * number], key)
    ]
    ours += [r for key in keys for r in make_records("mlm", [0.001, 0.001], key)]
    lines = league_text(ours).splitlines()
    assert len(lines) == MAX_LINES
    assert max(map(len, lines)) <= MAX_LINE_CHARS
    assert any(line.startswith("mlm ") for line in lines)  # the worst, but the baseline
    assert lines[-1] == "*: best of its column; 21 more rows in the report"
    assert league_text([]) == "No results: no variant of the league was evaluated."
