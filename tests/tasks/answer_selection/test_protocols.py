"""Re-ranking the top candidates of the pairwise model."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.metrics.ranking import METRICS, question_metrics
from contexture.tasks.answer_selection.protocols import rerank, select_top_k

Rows = list[tuple[str, str, int, float]]
RUN = {"variant": "mspp_ae", "seed": 1, "split": "test", "protocol": "reranked"}
NAN = float("nan")


def make_table(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["question_id", "candidate_id", "label", "score"])


def test_top_k_is_best_first_and_keeps_short_lists_whole() -> None:
    rows = [("Q2", "d", 1, -3.0), ("Q1", "a", 0, 0.1), ("Q1", "b", 1, 0.9), ("Q1", "c", 0, 0.5)]
    scores = make_table(rows).set_index(pd.Index([7, 7, 8, 9]))  # the index does not matter
    assert [group.tolist() for group in select_top_k(scores, 2)] == [[2, 3], [0]]


def test_ties_at_the_border_exclude_the_positive() -> None:
    rows = [("Q1", "a", 1, 0.5), ("Q1", "b", 0, 0.5), ("Q1", "c", 0, 0.5), ("Q1", "d", 0, 0.7)]
    for order in (rows, rows[::-1]):
        (top,) = select_top_k(make_table(order), 3)
        assert make_table(order)["candidate_id"].iloc[top].tolist() == ["d", "b", "c"]


def test_reranked_top_precedes_the_rest() -> None:
    candidates = zip("edcba", (0, 1, 1, 0, 0), (5.0, 6.0, 7.0, 8.0, 9.0), strict=True)
    pairwise = make_table([("Q1", *candidate) for candidate in candidates])
    # joint scores are lower than pairwise ones, but rank first
    merged = rerank(pairwise, [NAN, NAN, -10.0, -20.0, -30.0])
    assert merged["candidate_id"].tolist() == ["e", "d", "c", "b", "a"]
    assert merged["score"].tolist() == [1, 2, 5, 4, 3]
    # positives at ranks 1 and 4
    assert question_metrics(merged.assign(**RUN))[METRICS].to_numpy().tolist() == [[1.0, 0.75, 1.0]]


def test_ties_stay_ties_within_their_part() -> None:
    rows = [("Q1", "a", 1, 9.0), ("Q1", "b", 0, 8.0), ("Q1", "c", 1, 1.0), ("Q1", "d", 0, 1.0)]
    assert rerank(make_table(rows), [0.0, 0.0, NAN, NAN])["score"].tolist() == [2, 2, 1, 1]
    with pytest.raises(ValueError, match="not finite"):
        rerank(make_table(rows).assign(score=NAN), [0.0, 0.0, NAN, NAN])


@st.composite
def pairwise_tables(draw: st.DrawFn) -> pd.DataFrame:
    scored = st.tuples(st.integers(0, 1), st.sampled_from([-1.0, 0.0, 1e-30, 2.0]))
    rows = [
        (f"Q{question}", f"c{i}", *row)
        for question in range(draw(st.integers(1, 3)))
        for i, row in enumerate(draw(st.lists(scored, min_size=1, max_size=7)))
    ]
    return make_table(draw(st.permutations(rows)))


@settings(max_examples=50, deadline=None)
@given(pairwise_tables(), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_rerank_for_any_k(pairwise: pd.DataFrame, k: int, seed: int) -> None:
    groups = select_top_k(pairwise, k)
    backwards = pairwise[::-1]
    for rows, same in zip(groups, select_top_k(backwards, k), strict=True):  # the order of the rows does not matter
        assert pairwise["candidate_id"].iloc[rows].tolist() == backwards["candidate_id"].iloc[same].tolist()
    top = np.concatenate(groups)
    joint = np.full(len(pairwise), NAN)
    joint[top] = np.random.default_rng(seed).integers(-2, 3, len(top))
    merged = rerank(pairwise, joint)
    pd.testing.assert_frame_equal(merged.drop(columns="score"), pairwise.drop(columns="score"))
    for chosen in groups:
        question = merged["question_id"] == merged["question_id"].iloc[chosen[0]]
        rest = np.setdiff1d(np.flatnonzero(question), chosen)
        assert len(chosen) == min(k, question.sum())
        assert all(merged["score"].iloc[rest] < merged["score"].iloc[chosen].min())
        for part, source in ((chosen, joint), (rest, pairwise["score"].to_numpy())):
            scores_before, scores_after = pd.Series(source[part]), pd.Series(merged["score"].to_numpy()[part])
            # same order and ties as in the model's scores
            assert scores_before.rank(method="dense").tolist() == scores_after.rank(method="dense").tolist()
