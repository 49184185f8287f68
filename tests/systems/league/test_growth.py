"""Scores by budget and their forecasts."""

import math
import re
from typing import Any

import numpy as np
import pytest

from contexture.reporting.records import Record, check_records
from contexture.reporting.tables import Estimate
from contexture.systems.league.growth import (
    Growth,
    Line,
    Scatter,
    check_forecasts,
    check_leagues,
    collect_growth,
    forecast_all,
    list_references,
    measure_widening,
    pool_scatter,
)
from contexture.systems.league.growth_page import growth_page, render_growth
from contexture.systems.league.scores import League
from tests.systems.league.toys import make_costly_records, make_records


def run(budget: float, mlm: list[float], ict: list[float]) -> list[Record]:
    """Records of a league with this budget, with a row of another system and baselines."""
    return [
        *make_costly_records("mlm", mlm, flops=budget),
        *make_costly_records("ict", ict, flops=1.1 * budget),
        *make_costly_records("two towers: ict", [0.9, 0.9], flops=7e9),
        *make_costly_records("untrained", [0.05, 0.07], flops=0, steps=0),
        *make_records("bm25", [0.8], trained=False),
    ]


#: MLM grows by 10 points with each factor of ten; ICT hardly.
RUNS = [
    run(1e10, [0.10, 0.12], [0.40, 0.42]),
    run(1e11, [0.20, 0.22], [0.41, 0.43]),
    run(1e12, [0.30, 0.32], [0.42, 0.44]),
]


def test_a_line_and_its_interval_by_hand() -> None:
    """Means 2, 5 and 5: a slope of 1.5, and squared deviations from the line of 0.25 + 1 + 0.25."""
    line = Line({1.0: [1.0, 3.0], 10.0: [5.0], 100.0: [4.0, 6.0]})
    assert line.slope == pytest.approx(1.5) and line.at(1000) == pytest.approx(7)
    assert (line.squares, line.free) == (pytest.approx(1.5), 1)
    # A new budget at a distance of 2 from the middle.
    deviation = math.sqrt(1.5 * (1 + 1 / 3 + 2**2 / 2))
    assert pool_scatter([line]) == Scatter(pytest.approx(1.5), 1)
    assert line.forecast(1000, Scatter(1.5, 4)).interval == pytest.approx(2.776445 * deviation, rel=1e-5)
    assert line.forecast(1000, pool_scatter([line])).interval is None  # from one degree of freedom
    # With a second row, whose deviations are twice as large: 7.5 / 2, and two degrees of freedom.
    other = Line({1.0: [0.0], 10.0: [6.0], 100.0: [6.0]})
    both = pool_scatter([line, other])
    assert both == Scatter(pytest.approx(7.5 / 2), 2)
    two_budgets = Line({1.0: [1.0, 2.0], 10.0: [3.0]})
    assert pool_scatter([line, other, two_budgets]) == both
    assert two_budgets.forecast(100, Scatter(1.5, 4)).interval is not None


@pytest.mark.parametrize("budget_deviation", [0.0, 2.0])
def test_intervals_contain_the_mean_of_new_scores_as_often_as_they_say(budget_deviation: float) -> None:
    """Also if all seeds of a budget share a deviation from the line, such as that of a curve that bends."""
    rng = np.random.default_rng(0)

    def draw(x: int) -> list[float]:
        return list(3 * x + rng.normal(scale=budget_deviation) + rng.normal(size=3))

    hits = []
    for _ in range(1000):
        growths = {name: Growth({10.0**x: draw(x) for x in range(3)}) for name in "abcd"}
        for forecast in forecast_all(growths, 1e4).values():
            hits.append(abs(forecast.mean - np.mean(draw(4))) <= forecast.interval)
    assert 0.93 < np.mean(hits) < 0.97


def test_rows_with_several_budgets_from_the_highest_forecast() -> None:
    leagues = [League(records) for records in RUNS]
    (column,) = leagues[0].columns
    growths = collect_growth(leagues, column)
    assert list(growths) == ["ict", "mlm"]
    assert growths["mlm"].line.slope == pytest.approx(10) and growths["mlm"].largest == 1e12
    assert forecast_all(growths, 1e14)["mlm"].mean == pytest.approx(51)
    forecast, measured = check_forecasts(growths)["mlm"]
    assert forecast.mean == pytest.approx(31) == measured and forecast.interval is None  # from two budgets each
    growths = {
        "two": Growth({1e10: [1.0], 1e11: [2.0]}),
        "three": Growth({1e10: [1.0], 1e11: [2.0], 1e12: [3.0]}),
        "four": Growth({1e10: [1.0], 1e11: [3.0], 1e12: [4.0], 1e13: [5.0]}),
    }
    checks = check_forecasts(growths)
    scatter = pool_scatter([Line({1e10: [1.0], 1e11: [3.0], 1e12: [4.0]})])
    assert [*checks] == ["three", "four"]
    assert checks["three"][0] == Line({1e10: [1.0], 1e11: [2.0]}).forecast(1e12, scatter)
    assert list_references(leagues, column) == pytest.approx({"bm25": 80, "untrained": 6})
    assert collect_growth(leagues[:1], column) == {}


def test_the_page_has_scores_forecasts_and_the_leader() -> None:
    page = growth_page([League(RUNS[number]) for number in (2, 0, 1)])
    section, tokens = page.sections
    # The middle budget is 1.05 times that of MLM, whose line is at 41.2 with ten times as much.
    assert section.table is not None and [*page.figures] == [*section.figures]
    assert [column.name for column in section.table.columns[1:4]] == ["10.5G FLOPs", "105.0G FLOPs", "1.1T FLOPs"]
    rows = {row[0].lower(): row[1:] for row in section.table.rows}
    mlm = next(row for name, row in rows.items() if "mlm" in name or "masked" in name)
    assert mlm[:4] == ("11.0", "21.0", "31.0", "+10.0") and mlm[4] == "41.2" and mlm[-1] == "31.0"
    assert rows["bm25"] == ("80.0", *["–"] * 7)
    leaders = re.findall(r"with (\d+) times the largest budget, (\w+)", page.findings[0])
    assert [(factor, name.lower()) for factor, name in leaders] == [("10", "ict"), ("100", "mlm")]
    assert page.findings[0].count("without an interval") == 2
    expected = "Held out: 2 forecasts for the largest budget from the smaller ones are 0.0 points away on average."
    assert page.findings[-1] == expected
    four = growth_page([League(records) for records in [*RUNS, run(1e13, [0.40], [0.5])]])
    # MLM: 40 instead of 41; ICT: 50 instead of 44.
    assert "3.5 points away on average." in four.findings[-1]
    assert tokens.table is not None and tokens.table.title == "Tokens read in training"
    assert tokens.table.rows[0] == ("ict", "1.0k", "1.0k", "1.0k")
    assert "R@10" in render_growth(RUNS).html


def test_untrained_starts_and_epochs_stand_beside_the_scores() -> None:
    """The start is a mean over all files."""
    runs = [
        [
            record | {"epochs": 0.5 * 10**power, "untrained_start": "untrained"} if "flops" in record else record
            for record in records
        ]
        for power, records in enumerate(RUNS)
    ]
    scores, tokens = growth_page([League(check_records(records)) for records in runs]).sections
    assert scores.table is not None and tokens.table is not None
    assert scores.table.columns[1].name == "Untrained" and "initial weights" in scores.table.caption
    assert [row[1] for row in scores.table.rows[:2]] == ["6.0", "6.0"]
    assert tokens.table.title == "Tokens read in training (epochs)" and "Epochs: tokens" in tokens.table.caption
    assert tokens.table.rows[0] == ("ict", "1.0k (0.50)", "1.0k (5.00)", "1.0k (50.00)")


def test_losses_on_held_out_documents_have_a_table() -> None:
    """Of the smallest budget, the seeds of MLM have the losses 9 → 6 and 8 → 5. Other budgets have none."""
    losses = iter([(9.0, 6.0), (8.0, 5.0)])
    held_out: list[Any] = [dict(record) for record in RUNS[0]]
    for record in held_out:
        if record["variant"] == "mlm":
            start, loss = next(losses)
            record |= {"held_out_loss_start": start, "held_out_loss": loss, "stopped_early": False}
    page = growth_page([League(check_records(records)) for records in (held_out, *RUNS[1:])])
    table = page.sections[-1].table
    assert table is not None and table.title == "Loss on held-out documents" and "before → after" in table.caption
    assert table.rows == (("ict", "–", "–", "–"), ("mlm", "8.50 → 5.50", "–", "–"))


def test_intervals_are_widened_to_contain_what_was_measured() -> None:
    """Of 20 forecasts, the second largest distance is 1.5 half-widths."""
    near = [(Estimate(50.0, 2.0), 51.0)] * 18
    assert measure_widening([*near, (Estimate(50.0, 2.0), 53.0), (Estimate(50.0, 2.0), 40.0)]) == 1.5
    assert measure_widening([*near, (Estimate(0.0, None), 90.0)]) == 1.0
    assert measure_widening([]) == 1.0
    points = {
        "a": {1e10: [10.0], 1e11: [20.0], 1e12: [30.0], 1e13: [70.0]},
        "b": {1e10: [1.0], 1e11: [2.0], 1e12: [3.5]},
    }
    growths = {name: Growth(values) for name, values in points.items()}
    plain, wide = (forecast_all(growths, 1e14, widening)["a"] for widening in (1.0, 2.5))
    assert (wide.mean, wide.interval) == (plain.mean, pytest.approx(2.5 * plain.interval))


def test_the_page_says_by_how_much_intervals_are_widened() -> None:
    """Lines through three budgets of four rows, that bend with the fourth one."""
    bends = (0.02, 0.03, 0.04, 0.05)
    runs = []
    for power, records in enumerate(RUNS):
        rows = [
            make_costly_records(f"row{n}", [0.1 * power + bend * (power == 1)], flops=10.0 ** (10 + power))
            for n, bend in enumerate(bends)
        ]
        runs.append([*records, *(record for row in rows for record in row)])
    runs.append([record for n in range(4) for record in make_costly_records(f"row{n}", [0.9], flops=1e13)])
    finding = growth_page([League(records) for records in runs]).findings[-1]
    factor = re.search(
        r"so the intervals of the leaders and of the tables' forecasts are (\d+\.\d) times as wide\.$", finding
    )
    assert factor is not None and float(factor[1]) > 1


def test_all_rows_are_forecast_for_the_same_flops_if_one_has_a_larger_budget() -> None:
    """ICT has no training of 1e13 FLOPs: its score with 1e14 is read at the same point of its line as MLM's."""
    only_mlm = [record for record in run(1e13, [0.40, 0.42], [0.0]) if record["variant"] != "ict"]
    page = growth_page([League(records) for records in [*RUNS, only_mlm]])
    section, _ = page.sections
    assert section.table is not None
    assert [column.name for column in section.table.columns if column.group == "Forecast"] == [
        "100.0T FLOPs",
        "1.0P FLOPs",
    ]
    ict = next(row for row in section.table.rows if row[0] == "ict")
    assert ict[1:5] == ("41.0", "42.0", "43.0", "–")
    assert ict[6].startswith("45.0 ±") and ict[7].startswith("46.0 ±")  # 2 and 3 times ten above 1.1e12


def test_leagues_with_one_budget_share_a_point_and_equal_scores_without_training_count_once() -> None:
    leagues = [League(records) for records in [*RUNS, run(1e12, [0.50], [0.6])]]
    (column,) = leagues[0].columns
    assert collect_growth(leagues, column)["mlm"].points[1e12] == pytest.approx([30, 32, 50])
    assert list_references(leagues, column)["untrained"] == pytest.approx(6)
    other_start = [record | {"value": 0.09} if record["variant"] == "untrained" else record for record in RUNS[0]]
    assert list_references([leagues[0], League(other_start)], column)["untrained"] == pytest.approx((5 + 7 + 9 + 9) / 4)


def test_encoders_of_different_sizes_have_no_page() -> None:
    larger = [record | {"parameters": 5_000_000} if record["variant"] == "mlm" else record for record in RUNS[2]]
    with pytest.raises(ValueError, match=r"mlm has .* parameters in one of the results and 5,000,000 in another"):
        render_growth([RUNS[0], RUNS[1], larger])


def test_one_budget_has_no_page() -> None:
    with pytest.raises(ValueError, match="no row of the league has scores with two budgets"):
        render_growth(RUNS[:1])


def test_seeds_of_one_budget_are_in_one_result() -> None:
    """Their FLOPs differ a little, so that a line through them would be steep."""
    leagues = [League(run(budget, [0.2, 0.2], [0.4, 0.4])) for budget in (1e11, 1.01e11, 1e12)]
    with pytest.raises(ValueError, match=r"two of the results have about .*results save NAME --add"):
        check_leagues(leagues)
    check_leagues([leagues[0], leagues[2]])


def test_pictures_have_intervals_and_one_label_for_close_lines() -> None:
    close = make_costly_records("untrained_last", [0.06, 0.065], flops=0, steps=0)
    page = growth_page([League([*records, *close]) for records in RUNS])
    (axes,) = next(iter(page.figures.values())).axes
    assert [text.get_text() for text in axes.texts] == ["BM25", "untrained_last; Untrained"]
    (bars, *_) = axes.containers
    assert bars.has_yerr
