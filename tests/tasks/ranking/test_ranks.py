"""Ranks, metrics, expectations by chance and intervals, compared with values by hand, all orders and SciPy."""

from itertools import permutations
from math import comb

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

from contexture.reporting.records import METRICS as KNOWN
from contexture.tasks.ranking.config import Protocol
from contexture.tasks.ranking.data import Questions
from contexture.tasks.ranking.ranks import (
    METRICS,
    chance_metrics,
    describe_confidence,
    expected_metrics,
    question_metrics,
    right_ranks,
)


def test_ties_rank_right_candidates_last() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.5, 0.1])
    assert right_ranks(scores, np.array([1, 0, 0, 1, 1], bool)).tolist() == [3, 4, 5]
    assert right_ranks(scores, np.array([0, 1, 0, 0, 0], bool)).tolist() == [1]
    assert right_ranks(np.zeros(3), np.array([1, 0, 0], bool)).tolist() == [3]
    assert right_ranks(np.array([]), np.array([], bool)).tolist() == []
    with pytest.raises(ValueError, match="not a number"):
        right_ranks(np.array([np.nan, 1.0]), np.array([True, False]))


def test_one_right_candidate_is_enough_or_all_are_needed() -> None:
    ranks = np.array([1, 20, 21])
    assert question_metrics(ranks, 4, all_needed=False) == [1, 1, 1]
    assert question_metrics(ranks, 4, all_needed=True) == [1 / 4, 2 / 4, 1]
    assert question_metrics(np.array([4]), 2, all_needed=True) == [0, 1 / 2, 1 / 4]
    assert question_metrics(np.array([], int), 1, all_needed=False) == [0, 0, 0]
    assert METRICS == ["recall_at_1", "recall_at_20", "mrr"] and set(METRICS) <= set(KNOWN)


@pytest.mark.parametrize("all_needed", [False, True])
@pytest.mark.parametrize(("candidates", "right", "known"), [(1, 1, 1), (4, 1, 1), (5, 2, 3), (6, 3, 3), (6, 6, 6)])
def test_chance_is_the_mean_over_all_orders(candidates: int, right: int, known: int, all_needed: bool) -> None:
    orders = [np.array(order) for order in permutations(range(candidates))]
    values = [question_metrics(np.sort(order[:right]) + 1, known, all_needed) for order in orders]
    assert expected_metrics(candidates, right, known, all_needed) == pytest.approx(np.mean(values, axis=0).tolist())


def test_chance_among_many_candidates() -> None:
    """One right candidate: k of n. Several: at least one among k drawn without replacement."""
    first, among_20, mrr = expected_metrics(1000, 1, 1, False)
    assert (first, among_20) == pytest.approx((1 / 1000, 20 / 1000))
    assert mrr == pytest.approx(sum(1 / rank for rank in range(1, 1001)) / 1000)
    first, among_20, _ = expected_metrics(50, 3, 3, False)
    assert (first, among_20) == pytest.approx((3 / 50, 1 - comb(47, 20) / comb(50, 20)))
    assert expected_metrics(10, 2, 2, True)[:2] == pytest.approx([0.1, 1.0])
    assert expected_metrics(10, 0, 2, True) == expected_metrics(0, 0, 1, False) == [0.0, 0.0, 0.0]


def test_chance_of_each_question() -> None:
    candidates = [np.arange(10), np.arange(4), np.arange(0)]
    right = [np.array([3, -1]), np.array([0, 2]), np.array([9])]
    expected = chance_metrics(Questions(["a", "b", "c"], ["", "", ""], candidates, right), all_needed=True)
    assert expected.loc["a"].tolist() == pytest.approx(expected_metrics(10, 1, 2, True))
    assert expected.loc["b"].tolist() == pytest.approx(expected_metrics(4, 2, 2, True))
    assert expected.loc["c"].tolist() == [0, 0, 0]


IDS = [f"q{number}" for number in range(60)]


def make_table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    runs = [*(("frozen", variant, seed) for variant in ("bm25", "ct") for seed in (0, 1)), ("by_dot", "ct", 0)]
    keys = [(*run, name) for run in (*runs, ("finetuned", "ct", 0)) for name in IDS]
    table = pd.DataFrame(keys, columns=["protocol", "variant", "seed", "question_id"])
    return table.join(pd.DataFrame(rng.random((len(keys), len(METRICS))), columns=METRICS))


def test_intervals_are_those_of_scipy_over_questions() -> None:
    """Seeds are averaged; protocols are compared with chance of their candidates and with BM25."""
    table = make_table()
    chance: dict[Protocol, pd.DataFrame] = {
        "frozen": pd.DataFrame(0.5, index=IDS, columns=METRICS),
        "finetuned": pd.DataFrame(0.25, index=IDS, columns=METRICS),
    }
    confidence = describe_confidence(table, chance)
    assert list(confidence) == ["frozen", "by_dot", "finetuned"]
    assert {block["questions"] for block in confidence.values()} == {60}
    assert confidence["by_dot"]["chance"] == dict.fromkeys(METRICS, 0.5)
    assert confidence["finetuned"]["chance"] == dict.fromkeys(METRICS, 0.25)
    assert set(confidence["frozen"]["variants"]["bm25"]) == {"means", "over_chance"}

    def mean_of(protocol: str, variant: str) -> pd.Series:
        rows = table[(table["protocol"] == protocol) & (table["variant"] == variant)]
        return rows.pivot_table(index="question_id", columns="seed", values="mrr").mean(axis=1).loc[IDS]

    bm25 = mean_of("frozen", "bm25")
    for protocol, expected in (("frozen", 0.5), ("by_dot", 0.5), ("finetuned", 0.25)):
        values = mean_of(protocol, "ct")
        parts = confidence[protocol]["variants"]["ct"]
        for part, numbers in (("means", values), ("over_bm25", values - bm25), ("over_chance", values - expected)):
            mean, low, high = parts[part]["mrr"]
            assert mean == pytest.approx(numbers.mean())
            ends = bootstrap((numbers,), np.mean, n_resamples=1000, method="percentile", rng=np.random.default_rng(0))
            assert (low, high) == pytest.approx(tuple(ends.confidence_interval))


def test_bm25_of_the_same_protocol_is_preferred() -> None:
    table = make_table()
    finetuned = table[(table["variant"] == "bm25") & (table["seed"] == 0)].assign(protocol="finetuned")
    finetuned[METRICS] = 0.125
    table = pd.concat([table, finetuned], ignore_index=True)
    zero = pd.DataFrame(0.0, index=IDS, columns=METRICS)
    confidence = describe_confidence(table, {"frozen": zero, "finetuned": zero})
    tuned = confidence["finetuned"]["variants"]
    assert tuned["ct"]["over_bm25"]["mrr"][0] == pytest.approx(tuned["ct"]["means"]["mrr"][0] - 0.125)
