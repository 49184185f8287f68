"""Claims are decided on made-up records: shown, refuted, undecided, and why."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from contexture.metrics.bootstrap import bootstrap_interval
from contexture.reporting.claim_decisions import ClaimResult, Decision, decide, decide_claims
from contexture.reporting.claim_tables import claims_page, claims_rows, claims_text, decisions_table, render_claims
from contexture.reporting.claims import ClaimComparison, ClaimMeasure, ClaimRow, PaperClaims, parse_claims
from contexture.reporting.records import Record, score_key
from contexture.reporting.run_records import RunRecords
from contexture.reporting.tables import to_markdown
from tests.reporting.make import COST, measured

A = ClaimRow("ours", untrained="untrained")
B = ClaimRow("theirs", untrained="untrained")
COMPARED = ClaimComparison(A, B, ("mean",))
MEAN = ClaimMeasure("mean of two", "accuracy", ("mr", "cr"), ("senteval",), "senteval")
SQUAD = ClaimMeasure("R@10", "recall_at_10", ("retrieval",), ("squad",), "80%")
SPEED = ClaimMeasure("speed", "steps_per_second")


def made(variant: str, values: Sequence[float], cost: dict[str, Any] | None = None, **key: Any) -> list[Record]:
    return measured(variant, values, system="toy", cost=COST if cost is None else cost, **key)


def both_tasks(variant: str, values: Sequence[float], **key: Any) -> list[Record]:
    """Records of the two tasks, whose mean are the values."""
    return [
        *made(variant, [value - 0.1 for value in values], task="mr", **key),
        *made(variant, [value + 0.1 for value in values], task="cr", **key),
    ]


def decide_on(*records: list[Record], compared: ClaimComparison = COMPARED, measure: ClaimMeasure = MEAN) -> Decision:
    return decide(compared, measure, RunRecords([record for part in records for record in part]), "toy")


START = both_tasks("untrained", [0.5, 0.5, 0.5])


def test_shown_with_the_interval_of_the_paired_t_test() -> None:
    ours, theirs = np.array([0.80, 0.82, 0.81]), np.array([0.70, 0.71, 0.72])
    decision = decide_on(both_tasks("ours", ours), both_tasks("theirs", theirs), START)
    expected = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert decision.verdict == "shown" and decision.reason == ""
    assert decision.interval == pytest.approx((100 * expected.low, 100 * expected.high))
    assert (decision.difference, decision.seeds, decision.questions) == (pytest.approx(10), 3, 0)
    assert decision.a is not None and decision.b is not None
    assert (decision.a.score, decision.b.score) == (pytest.approx(81), pytest.approx(71))
    assert (decision.a.start, decision.b.start) == (pytest.approx(50), pytest.approx(50))
    assert (decision.texts, decision.flops, decision.minutes) == (("novels",), (1e12, 1e12), 6.0)


def test_refuted() -> None:
    decision = decide_on(both_tasks("ours", [0.70, 0.71, 0.72]), both_tasks("theirs", [0.80, 0.812, 0.81]), START)
    assert decision.verdict == "refuted" and decision.reason == "" and decision.needed_seeds is None


def test_undecided_by_the_interval_with_the_seeds_that_would_decide() -> None:
    differences = np.array([0.03, -0.01, 0.01])
    decision = decide_on(both_tasks("ours", 0.7 + differences), both_tasks("theirs", [0.7] * 3), START)
    assert decision.verdict == "undecided" and decision.interval is not None
    assert decision.interval[0] < 0 < decision.interval[1]
    # t² has the noncentral F distribution.
    effect = float(differences.mean() / differences.std(ddof=1))
    powers = {
        seeds: stats.ncf.sf(stats.f.isf(0.05, 1, seeds - 1), 1, seeds - 1, seeds * effect**2) for seeds in range(2, 100)
    }
    needed = min(seeds for seeds, power in powers.items() if power >= 0.8)
    assert decision.needed_seeds == needed == 34
    assert decision.reason == "about 34 seeds would decide it"


def test_a_tiny_difference_needs_too_many_seeds() -> None:
    decision = decide_on(both_tasks("ours", [0.70, 0.72, 0.6801]), both_tasks("theirs", [0.7] * 3), START)
    assert decision.needed_seeds is None and decision.reason == "more than 1,000 seeds would decide it"


def test_undecided_if_both_rows_are_below_their_untrained_start() -> None:
    ours, theirs = both_tasks("ours", [0.60, 0.61, 0.62]), both_tasks("theirs", [0.50, 0.52, 0.52])
    decision = decide_on(ours, theirs, both_tasks("untrained", [0.7, 0.7, 0.7]))
    assert decision.verdict == "undecided"
    assert decision.reason == "both rows are below the untrained start; train longer"
    # The numbers are shown nevertheless.
    assert decision.difference == pytest.approx(29 / 3) and decision.interval is not None
    # With one of them above it, the claim is decided.
    assert decide_on(ours, theirs, both_tasks("untrained", [0.55, 0.55, 0.55])).verdict == "shown"


def test_a_row_without_a_start_does_not_help_the_other_one() -> None:
    compared = ClaimComparison(A, ClaimRow("bm25"), ("mean",))
    ours, bm25 = both_tasks("ours", [0.60, 0.61, 0.62]), both_tasks("bm25", [0.8], cost={})
    decision = decide_on(ours, bm25, both_tasks("untrained", [0.7, 0.7, 0.7]), compared=compared)
    assert decision.reason == "the row with an untrained start is below the untrained start; train longer"
    assert decide_on(ours, bm25, START, compared=compared).verdict == "refuted"


def test_undecided_without_the_untrained_start() -> None:
    decision = decide_on(both_tasks("ours", [0.80, 0.81, 0.82]), both_tasks("theirs", [0.70, 0.72, 0.71]))
    assert decision.verdict == "undecided" and decision.reason == "no records of the untrained start untrained"


def test_missing_records() -> None:
    decision = decide_on(both_tasks("theirs", [0.7, 0.7]), START)
    assert (decision.verdict, decision.reason) == ("undecided", "no records of ours") and not decision.is_measured
    # Other data, and another protocol.
    other = [*both_tasks("ours", [0.8], data="demo"), *both_tasks("ours", [0.8], protocol="skip_thoughts")]
    assert decide_on(other, both_tasks("theirs", [0.7]), START).reason == "no records of ours"
    assert decide_on(made("ours", [0.8], task="mr"), made("theirs", [0.7], task="cr"), START).reason == (
        "the rows have no score, or no seed, in common"
    )


def test_the_mean_is_over_the_tasks_that_both_rows_have() -> None:
    ours = [*both_tasks("ours", [0.80, 0.82])]
    decision = decide_on(ours, made("theirs", [0.60, 0.61], task="mr"), START)
    assert decision.without == ("cr",) and decision.difference == pytest.approx(10.5)
    assert decision.a is not None and decision.a.start == pytest.approx(40)


def test_only_shared_seeds_count() -> None:
    decision = decide_on(both_tasks("ours", [0.80, 0.82, 0.1]), both_tasks("theirs", [0.70, 0.71]), START)
    assert decision.seeds == 2 and decision.difference == pytest.approx(10.5)


def test_one_seed_is_undecided() -> None:
    decision = decide_on(both_tasks("ours", [0.9]), both_tasks("theirs", [0.7]), START)
    assert decision.verdict == "undecided" and decision.interval is None and decision.needed_seeds is None
    assert decision.reason == "1 seed; run at least 3 seeds"


def test_two_seeds_are_undecided() -> None:
    decision = decide_on(both_tasks("ours", [0.90, 0.91]), both_tasks("theirs", [0.70, 0.712]), START)
    assert decision.interval is not None and decision.interval[0] > 0
    assert (decision.verdict, decision.needed_seeds) == ("undecided", 3)
    assert decision.reason == "about 3 seeds would decide it"
    equal = decide_on(both_tasks("ours", [0.9, 0.9]), both_tasks("theirs", [0.7, 0.7]), START)
    assert (equal.verdict, equal.reason) == ("undecided", "2 seeds; run at least 3 seeds")


def test_equal_differences_say_nothing_about_seeds() -> None:
    decision = decide_on(both_tasks("ours", [0.9] * 3), both_tasks("theirs", [0.7] * 3), START)
    assert decision.verdict == "undecided" and decision.reason.startswith("all seeds have the same difference")


def test_what_is_not_trained_counts_for_all_seeds() -> None:
    compared = ClaimComparison(A, ClaimRow("bm25"), ("mean",))
    bm25 = both_tasks("bm25", [0.6], cost={})
    assert decide_on(both_tasks("ours", [0.80, 0.82]), bm25, START, compared=compared).seeds == 2
    # A trained row with one seed does not.
    assert decide_on(both_tasks("ours", [0.80, 0.82]), both_tasks("bm25", [0.6]), START, compared=compared).seeds == 1


@pytest.mark.parametrize(
    ("cost", "reason"),
    [
        ({"training_text": "the demo's made-up world"}, "trained on the demo's made-up world, which is no evidence"),
        ({"training_text": "letters"}, "trained on different texts: novels and letters"),
    ],
)
def test_texts_that_are_no_evidence(cost: dict[str, Any], reason: str) -> None:
    theirs = both_tasks("theirs", [0.70, 0.71, 0.72], cost=COST | cost)
    ours_cost = COST if "letters" in reason else COST | cost
    decision = decide_on(both_tasks("ours", [0.80, 0.83, 0.82], cost=ours_cost), theirs, START)
    assert (decision.verdict, decision.reason) == ("undecided", reason)


def test_equal_costs() -> None:
    compared = ClaimComparison(A, B, ("mean",), equal_cost="seconds")

    def decide_with(seconds: float, *scores: float) -> Decision:
        ours = both_tasks("ours", scores or (0.80, 0.82, 0.81), cost=COST | {"seconds": seconds})
        return decide_on(ours, both_tasks("theirs", [0.70, 0.71, 0.72]), START, compared=compared)

    assert decide_with(74.0).verdict == decide_with(9.0).verdict == "shown"
    assert decide_with(90.0).reason == "seconds of training differ: 90 and 60"
    worse = 0.61, 0.63, 0.62
    assert decide_with(90.0, *worse).verdict == "refuted"
    assert decide_with(9.0, *worse).reason == "seconds of training differ: 9 and 60"


@pytest.mark.parametrize(
    ("settings", "seconds", "verdict"),
    [
        # A little lower: "not much lower" favours ours.
        ({"margin": -5.0}, 600.0, "undecided"),
        ({"margin": -5.0}, 6.0, "shown"),
        # "Much lower" is refuted in favour of ours.
        ({"direction": "lower", "margin": 5.0}, 600.0, "undecided"),
        ({"direction": "lower", "margin": 5.0}, 6.0, "refuted"),
        ({"direction": "equal", "margin": 5.0}, 600.0, "undecided"),
        ({"direction": "equal", "margin": 5.0}, 6.0, "undecided"),
        ({"direction": "equal", "margin": 5.0}, 60.0, "shown"),
    ],
)
def test_equal_costs_with_a_margin(settings: dict[str, Any], seconds: float, verdict: str) -> None:
    compared = ClaimComparison(A, B, ("mean",), equal_cost="seconds", **settings)
    ours = both_tasks("ours", [0.70, 0.71, 0.71], cost=COST | {"seconds": seconds})
    decision = decide_on(ours, both_tasks("theirs", [0.71, 0.71, 0.72]), START, compared=compared)
    assert decision.verdict == verdict


@pytest.mark.parametrize(
    ("direction", "margin", "gains", "verdict"),
    [
        ("lower", 0, [-5, -6, -7], "shown"),
        ("lower", 0, [5, 6, 7], "refuted"),
        ("lower", 5.5, [-5, -6, -7], "undecided"),
        ("higher", -1, [-0.5, 0, 0.5], "undecided"),
        ("higher", -2, [-0.5, 0, 0.5], "shown"),
        ("higher", 10, [5, 6, 7], "refuted"),
        ("equal", 2, [-0.5, 0, 0.5], "shown"),
        ("equal", 1, [-0.5, 0, 0.5], "undecided"),
        ("equal", 2, [5, 6, 7], "refuted"),
        ("equal", 2, [-5, -6, -7], "refuted"),
        ("equal", 4, [5, 6, 7], "undecided"),
    ],
)
def test_directions_and_margins(direction: Any, margin: float, gains: list[float], verdict: str) -> None:
    """The intervals are 2.48 (spread 1) or 1.24 points (spread 0.5) to each side."""
    compared = ClaimComparison(A, B, ("mean",), direction, margin)
    ours = both_tasks("ours", [0.7 + gain / 100 for gain in gains])
    decision = decide_on(ours, both_tasks("theirs", [0.7] * 3), START, compared=compared)
    assert decision.verdict == verdict
    assert (decision.needed_seeds is not None) == (verdict == "undecided")


def test_the_difference_of_differences() -> None:
    compared = ClaimComparison(ClaimRow("ours", minus="none"), ClaimRow("theirs", minus="no_words"), ("mean",))
    parts = [("ours", [0.8, 0.83]), ("none", [0.5, 0.5]), ("theirs", [0.9, 0.9]), ("no_words", [0.75, 0.76])]
    decision = decide_on(*(both_tasks(*part) for part in parts), compared=compared)
    assert decision.difference == pytest.approx(100 * np.mean([0.3 - 0.15, 0.33 - 0.14]))
    assert decision.a is not None and decision.a.score == pytest.approx(31.5)
    assert decision.minutes == 8.0
    started = ClaimComparison(ClaimRow("ours", minus="none", untrained="none"), ClaimRow("theirs"), ("mean",))
    gain = decide_on(*(both_tasks(*part) for part in parts), compared=started).a
    # The start is of the variant alone, so that it is not beside the difference.
    assert gain is not None and (gain.start, gain.is_below_start) == (None, False)
    without = decide_on(*(both_tasks(*part) for part in parts[:3]), compared=compared)
    assert without.reason == "no records of no_words"


def test_rows_with_their_own_protocol_and_system() -> None:
    compared = ClaimComparison(ClaimRow("ours", protocol="80%", system="other"), ClaimRow("ours"), ("mean",))
    records = [*measured("ours", [0.9, 0.91, 0.92], protocol="80%", task="mr", system="other", cost=COST)]
    decision = decide_on(records, made("ours", [0.5, 0.52, 0.51], task="mr"), compared=compared)
    assert decision.difference == pytest.approx(40) and decision.verdict == "shown"


def test_the_speed_of_training() -> None:
    def timed(variant: str, seconds: Sequence[float]) -> list[Record]:
        return [
            {**record, "seed": seed}  # type: ignore[misc]
            for seed, value in enumerate(seconds)
            for record in made(variant, [0.5], cost=COST | {"steps": 100, "seconds": value})
        ]

    compared = ClaimComparison(ClaimRow("ours"), ClaimRow("theirs"), ("speed",))
    decision = decide_on(timed("ours", [10, 11, 10]), timed("theirs", [50, 51, 49]), compared=compared, measure=SPEED)
    assert decision.verdict == "shown" and decision.a is not None
    assert decision.a.score == pytest.approx(np.mean([10, 100 / 11, 10]))
    untrained = made("theirs", [0.5], cost=COST | {"steps": 0, "seconds": 0.0})
    without = decide_on(timed("ours", [10]), untrained, compared=compared, measure=SPEED)
    assert without.reason == "no records of theirs"


def write_run(folder: Path, records: Sequence[Record], table: pd.DataFrame | None = None) -> Path:
    """Write records and the ranks of retrieval as a run does; return its folder of reports."""
    reports = folder / "data/08_reporting"
    (reports / "toy").mkdir(parents=True)
    (reports / "toy/metrics.json").write_text(json.dumps(records))
    if table is not None:
        (folder / "data/07_model_output/toy/retrieval").mkdir(parents=True)
        table.to_parquet(folder / "data/07_model_output/toy/retrieval/ranks.parquet")
    return reports


def ranked(variant: str, ranks: Sequence[int], seeds: int = 1) -> tuple[list[Record], pd.DataFrame]:
    """Seeds of a variant with equal ranks: the records and the table of ranks."""
    table = pd.DataFrame({"question_id": [f"q{i:03}" for i in range(len(ranks))], "rank": ranks})
    run = {"variant": variant, "split": "test", "protocol": "80%"}
    share = float(np.mean([1 <= rank <= 10 for rank in ranks]))
    records = made(variant, [share] * seeds, task="retrieval", data="squad", protocol="80%", metric="recall_at_10")
    return records, pd.concat([table.assign(seed=seed, **run) for seed in range(seeds)])


@pytest.mark.parametrize(
    ("right", "seeds", "verdict", "reason"),
    [
        ((90, 50), 3, "shown", ""),
        ((50, 90), 3, "refuted", ""),
        (
            (51, 50),
            3,
            "undecided",
            "all seeds have the same difference; the interval over questions includes the bound",
        ),
        ((90, 50), 1, "undecided", "1 seed; run at least 3 seeds"),
    ],
)
def test_equal_seeds_are_decided_by_the_questions(
    right: tuple[int, int], seeds: int, verdict: str, reason: str, tmp_path: Path
) -> None:
    compared = ClaimComparison(ClaimRow("ours"), ClaimRow("theirs"), ("squad",))
    (ours, ours_table), (theirs, theirs_table) = (
        ranked(name, [1] * count + [0] * (100 - count), seeds)
        for name, count in zip(("ours", "theirs"), right, strict=True)
    )
    # The tables may have the questions in another order.
    table = pd.concat([ours_table, theirs_table[::-1]])
    run = RunRecords.read(write_run(tmp_path, [*ours, *theirs], table))
    decision = decide(compared, SQUAD, run, "toy")
    assert (decision.verdict, decision.seeds, decision.questions) == (verdict, seeds, 100)
    assert (decision.reason, decision.needed_seeds) == (reason, None)
    gains = 100.0 * (np.arange(100) < right[0]) - 100.0 * (np.arange(100) < right[1])
    assert decision.interval == pytest.approx(bootstrap_interval(gains))


def test_tables_of_another_run_are_not_used(tmp_path: Path) -> None:
    compared = ClaimComparison(ClaimRow("ours"), ClaimRow("theirs"), ("squad",))
    (ours, ours_table), (theirs, _) = ranked("ours", [1] * 9 + [0], 3), ranked("theirs", [1] * 5 + [0] * 5, 3)
    _, other_table = ranked("theirs", [1] * 6 + [0] * 4, 3)
    run = RunRecords.read(write_run(tmp_path, [*ours, *theirs], pd.concat([ours_table, other_table])))
    decision = decide(compared, SQUAD, run, "toy")
    assert decision.interval is None and decision.reason.endswith("no tables of questions are saved")


TOY = """
paper: A paper
measures:
  mean: {title: mean of two, tasks: [mr, cr], data: [senteval], protocol: senteval, metric: accuracy}
claims:
  A1:
    statement: Ours is best
    source: Table 1
    comparisons:
      - {a: {variant: ours, untrained: untrained}, b: {variant: theirs, untrained: untrained}, measures: [mean]}
      - {a: {variant: ours, untrained: untrained}, b: {variant: mlm, untrained: untrained}, measures: [mean]}
    environment: paper
    command: kedro run --env paper --pipelines toy
    missing: a GPU
    note: Mind this.
"""


@pytest.fixture
def papers() -> dict[str, PaperClaims]:
    return {"toy": parse_claims(TOY, "toy")}


def decide_toy(papers: dict[str, PaperClaims], *runs: list[Record]) -> ClaimResult:
    (result,) = decide_claims(papers, [RunRecords(records) for records in runs])
    return result


OURS, THEIRS = both_tasks("ours", [0.80, 0.82, 0.81]), both_tasks("theirs", [0.70, 0.71, 0.72])


def test_a_claim_needs_all_its_comparisons(papers: dict[str, PaperClaims]) -> None:
    worse, better, close = (
        both_tasks("mlm", values) for values in ([0.6, 0.61, 0.62], [0.9, 0.91, 0.92], [0.8, 0.81, 0.82])
    )
    run = [*OURS, *THEIRS, *START]
    assert decide_toy(papers, [*run, *worse]).verdict == "shown"
    assert decide_toy(papers, [*run, *better]).verdict == "refuted"
    assert decide_toy(papers, [*run, *close]).verdict == "undecided"
    partly = decide_toy(papers, run)
    assert [decision.verdict for decision in partly.decisions] == ["shown", "undecided"]
    assert partly.verdict == "undecided" and partly.decisions[1].reason == "no records of mlm"
    assert [decision.reason for decision in decide_toy(papers).decisions] == [
        "no records of ours and theirs",
        "no records of ours and mlm",
    ]


def test_rows_of_different_runs_are_not_compared(papers: dict[str, PaperClaims]) -> None:
    mlm = both_tasks("mlm", [0.6, 0.61, 0.62])
    apart = decide_toy(papers, [*OURS, *START], [*THEIRS, *mlm, *START])
    assert not any(decision.is_measured for decision in apart.decisions)
    # Each comparison may be in a run of its own.
    split = decide_toy(papers, [*OURS, *THEIRS, *START], [*OURS, *mlm, *START])
    assert split.verdict == "shown" and len(split.decisions) == 2


def test_what_is_missing_is_said_of_the_run_that_has_most(papers: dict[str, PaperClaims]) -> None:
    other = [{**record, "system": "league"} for record in OURS]
    result = decide_toy(papers, other, [*OURS, *START], [*OURS, *both_tasks("theirs", [0.7])[3:], *START])
    assert [decision.reason for decision in result.decisions] == ["no records of theirs", "no records of mlm"]


def test_a_claim_can_need_an_option_of_the_command() -> None:
    claim = TOY.replace("pipelines toy\n    missing: a GPU\n", "pipelines toy --params words=FILE\n    needs: words=\n")
    papers = {"toy": parse_claims(claim, "toy")}
    run = [*OURS, *THEIRS, *both_tasks("mlm", [0.6, 0.61, 0.62]), *START]
    for command, verdict in (
        ("kedro run --params words=a.txt", "shown"),
        ("kedro run", "undecided"),
        (None, "undecided"),
    ):
        (result,) = decide_claims(papers, [RunRecords(run, commands={"toy": command})])
        assert result.verdict == verdict
    with pytest.raises(ValueError, match="the command does not have 'vectors='"):
        parse_claims(claim.replace("needs: words=", "needs: vectors="), "toy")


def test_the_table_names_the_records_of_several_runs(papers: dict[str, PaperClaims]) -> None:
    run = [*OURS, *THEIRS, *both_tasks("mlm", [0.6, 0.61, 0.62]), *START]
    results = decide_claims(
        papers, [RunRecords(run, Path("docs/results/first.json")), RunRecords(run, Path("data/08"))]
    )
    rows = to_markdown(decisions_table(results)).splitlines()
    assert rows[0].endswith("| Records | Result |")
    assert [row.split(" | ")[-2] for row in rows[3:]] == ["first", "data/08"] * 2
    assert {row["records"] for row in claims_rows(results)} == {"docs/results/first.json", "data/08"}


def test_equal_runs_that_disagree_decide_nothing(papers: dict[str, PaperClaims]) -> None:
    mlm = both_tasks("mlm", [0.6, 0.61, 0.62])
    first = [*OURS, *THEIRS, *mlm, *START]
    reverse = [*OURS, *both_tasks("theirs", [0.9, 0.91, 0.92]), *START]
    result = decide_toy(papers, first, reverse)
    assert [decision.verdict for decision in result.decisions] == ["shown", "refuted", "shown"]
    assert result.verdict == "undecided"
    unclear = [*OURS, *both_tasks("theirs", [0.8, 0.81, 0.82]), *START]
    assert decide_toy(papers, first, unclear).verdict == "undecided"


def test_the_run_with_most_seeds_decides_then_that_with_most_flops(papers: dict[str, PaperClaims]) -> None:
    few_seeds = [*OURS, *THEIRS, *both_tasks("mlm", [0.6, 0.61, 0.62]), *START]
    four = both_tasks("ours", [0.80, 0.81, 0.82, 0.81])
    unclear = [both_tasks(name, [0.80, 0.81, 0.82, 0.815]) for name in ("theirs", "mlm")]
    many_seeds = [*four, *unclear[0], *unclear[1], *START]
    assert decide_toy(papers, few_seeds).verdict == "shown"
    assert decide_toy(papers, few_seeds, many_seeds).verdict == "undecided"
    cost = COST | {"flops": 2 * COST["flops"]}
    longer = [{**record, **cost} if "flops" in record else record for record in few_seeds]
    reverse = [*OURS, *both_tasks("theirs", [0.9, 0.91, 0.92]), *both_tasks("mlm", [0.6, 0.61, 0.62]), *START]
    assert decide_toy(papers, reverse).verdict == "refuted"
    assert decide_toy(papers, reverse, longer).verdict == "shown"  # type: ignore[arg-type]
    # A run that cannot decide does not count, however large it is.
    made_up = [{**record, "training_text": "the demo's made-up world"} for record in longer]
    assert decide_toy(papers, reverse, made_up).verdict == "refuted"  # type: ignore[arg-type]
    equal = [record for name in ("ours", "theirs", "mlm") for record in both_tasks(name, [0.8] * 4)]
    assert decide_toy(papers, reverse, [*equal, *START]).verdict == "refuted"  # no interval without tables of questions


def test_the_untrained_start_may_have_another_protocol() -> None:
    frozen = both_tasks("ours", [0.7, 0.7, 0.7], protocol="frozen")
    row = ClaimRow("ours", untrained="ours", untrained_protocol="frozen")
    compared = ClaimComparison(row, ClaimRow("theirs"), ("mean",))
    for scores, verdict in (([0.6, 0.61, 0.62], "undecided"), ([0.8, 0.81, 0.82], "shown")):
        decision = decide_on(
            both_tasks("ours", scores), both_tasks("theirs", [0.5, 0.5, 0.5]), frozen, compared=compared
        )
        assert decision.a is not None and decision.a.start == pytest.approx(70)
        assert (decision.verdict, decision.can_decide) == (verdict, verdict == "shown")


def test_rows_of_further_systems_decide_too() -> None:
    papers = {"toy": parse_claims(TOY.replace("    missing: a GPU\n", "    also_in: [league]\n"), "toy")}
    run = [*OURS, *THEIRS, *both_tasks("mlm", [0.6, 0.61, 0.62]), *START]
    league: list[Record] = [{**record, "system": "league"} for record in run]
    unclear = [*OURS, *both_tasks("theirs", [0.8, 0.81, 0.82]), *both_tasks("mlm", [0.8, 0.81, 0.82]), *START]
    assert decide_toy(papers, unclear).verdict == "undecided"
    larger: list[Record] = [{**r, "flops": 2 * r["flops"]} if "flops" in r else r for r in league]
    result = decide_toy(papers, unclear, larger)
    assert [decision.also_in for decision in result.decisions] == ["", "league"] * 2 and result.verdict == "shown"
    assert "ours > theirs, mean of two, league: 81.0 (50.0)" in claims_text([result])
    # Rows of different systems are not compared.
    apart = decide_toy(papers, [*OURS, *({**record, "system": "league"} for record in THEIRS)])
    assert not any(decision.is_measured for decision in apart.decisions)


def _list_tables(results: list[ClaimResult]) -> list[str]:
    """Return the tables of the page of claims as Markdown."""
    return [to_markdown(section.table) for section in claims_page(results).sections if section.table]


def test_text_and_page_have_all_numbers(papers: dict[str, PaperClaims]) -> None:
    result = decide_toy(papers, [*OURS, *both_tasks("theirs", [0.70, 0.722, 0.711]), *START])
    text = claims_text([result])
    for part in (
        "A1  UNDECIDED: Ours is best (A paper, Table 1)",
        "ours > theirs, mean of two: 81.0 (50.0) and 71.1 (50.0), difference +9.9 [+9.7, +10.1], 3 seeds: shown",
        "trained on novels: 1.0T FLOPs, 6.0 minutes",
        "ours > mlm, mean of two: undecided: no records of mlm",
        "missing: a GPU",
        "note: Mind this.",
        "repeat: kedro run --env paper --pipelines toy",
        "0 shown, 0 refuted, 1 undecided",
    ):
        assert part in text, text
    html = render_claims([result]).html
    assert "Ours is best (A paper, Table 1): undecided" in html and "ours &gt; theirs" in html
    page = claims_page([result])
    assert page.findings == ["Of 1 claim: 0 shown, 0 refuted, 1 undecided."]
    comparisons, commands = _list_tables([result])
    assert "**A1: Ours is best (A paper, Table 1): undecided**" in comparisons
    assert (
        "| ours > theirs | mean of two | 81.0 (50.0) | 71.1 (50.0) | +9.9 [+9.7, +10.1] | 3 seeds | – | novels | 1.0T "
        "| 6.0 | shown |"
    ) in comparisons
    assert "| A1 | kedro run --env paper --pipelines toy | a GPU | Mind this. |" in commands
    measured_on = [
        {**record, "examples": 700} for record in [*OURS, *both_tasks("theirs", [0.70, 0.722, 0.711]), *START]
    ]
    counted = decide_toy(papers, measured_on)  # type: ignore[arg-type]
    assert "3 seeds, 1,400 test examples: shown" in claims_text([counted])
    assert "| 3 seeds | 1,400 | novels |" in _list_tables([counted])[0]
    assert [row["test_examples"] for row in claims_rows([counted])] == [1400, None]
    partly = [record if record["task"] == "cr" else {**record, "examples": 700} for record in [*OURS, *START]]
    keys = [record for record in OURS if record["seed"] == 0]
    assert RunRecords(partly).count_examples("toy", "ours", [score_key(record) for record in keys]) is None  # type: ignore[arg-type]
    first, second = claims_rows([result])
    assert (first["claim"], first["result"], first["seeds"], second["reason"]) == (
        "A1",
        "shown",
        3,
        "no records of mlm",
    )
    assert first["difference"] == pytest.approx(9.9) and second["difference"] is None


def test_a_decided_claim_is_a_finding_and_misses_nothing(papers: dict[str, PaperClaims]) -> None:
    result = decide_toy(papers, [*OURS, *THEIRS, *both_tasks("mlm", [0.6, 0.61, 0.62]), *START])
    assert claims_page([result]).findings[1:] == ["Ours is best: shown."]
    assert "missing" not in claims_text([result])


def test_folders_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no \*/metrics.json; name a folder data/08_reporting of a run"):
        RunRecords.read(tmp_path)
    reports = write_run(tmp_path, [{**record, "metric": "bleu"} for record in OURS[:1]])  # type: ignore[misc]
    with pytest.raises(ValueError, match=r"toy/metrics.json: metrics record 0: unknown metric"):
        RunRecords.read(reports)
