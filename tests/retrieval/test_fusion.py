"""Fusion of two rankings, by ranks and by scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.retrieval.fusion import RANK_OFFSET, fuse_ranks, fuse_scores
from contexture.retrieval.top import Ranking


def test_fusion_by_hand() -> None:
    first, second = np.array([[5, 3, -1]]), np.array([[3, 7]])
    # 3 is in both rankings, 5 and 7 are in one each.
    scores, rows = fuse_ranks(first, second, 0.5, 4)
    assert rows.tolist() == [[3, 5, 7, -1]]
    assert scores[0].tolist() == pytest.approx([0.5 / 62 + 0.5 / 61, 0.5 / 61, 0.5 / 62, -np.inf])
    assert fuse_ranks(first, second, 1.0, 2)[1].tolist() == [[5, 3]]
    assert fuse_ranks(first, second, 0.0, 2)[1].tolist() == [[3, 7]]
    with pytest.raises(ValueError, match="cannot fuse rankings"):
        fuse_ranks(np.zeros((2, 1), np.int64), np.zeros((3, 1), np.int64), 0.5, 1)


def test_fusion_against_a_loop() -> None:
    draw = np.random.default_rng(0)
    first, second = (np.array([draw.permutation(30)[:12] for _ in range(20)]) for _ in range(2))
    results = fuse_ranks(first, second, 0.3, 10)[1]
    for query in range(20):
        scores: dict[int, float] = {}
        for weight, rows in ((0.3, first[query]), (0.7, second[query])):
            for rank, row in enumerate(rows, start=1):
                scores[int(row)] = scores.get(int(row), 0.0) + weight / (RANK_OFFSET + rank)
        expected = sorted(scores, key=lambda row: (-scores[row], row))[:10]
        assert results[query].tolist() == expected


def make_ranking(*queries: dict[int, float]) -> Ranking:
    """Row → score for each query, best first → a padded ranking."""
    width = max(map(len, queries)) + 1
    scores, rows = np.full((len(queries), width), -np.inf, np.float32), np.full((len(queries), width), -1)
    for line, query in enumerate(queries):
        rows[line, : len(query)], scores[line, : len(query)] = list(query), list(query.values())
    return scores, rows


def test_scores_are_scaled_and_summed_by_hand() -> None:
    vectors = make_ranking({5: 0.9, 3: 0.5, 8: 0.1}, {1: 0.2}, {})
    words = make_ranking({3: 12.0, 7: 4.0}, {}, {})
    balanced, by_words = (fuse_scores(vectors, words, weight, 4) for weight in (0.5, 0.0))
    # Scaled: vectors 5: 1, 3: 0.5, 8: 0; words 3: 1, 7: 0.
    assert balanced[1].tolist() == [[3, 5, 7, 8], [1, -1, -1, -1], [-1] * 4]
    assert balanced[0][0].tolist() == pytest.approx([0.75, 0.5, 0, 0])
    assert balanced[0][1, 0] == 0.5  # a single result is the best
    assert by_words[1][0].tolist() == [3, 5, 7, 8] and by_words[0][0].tolist() == [1, 0, 0, 0]
    with pytest.raises(ValueError, match="rankings of 3 and 1 queries"):
        fuse_scores(vectors, make_ranking({1: 1.0}), 0.5, 3)


queries = st.dictionaries(st.integers(0, 20), st.integers(-50, 50), max_size=8)


@given(queries, queries, st.floats(0, 1), st.integers(1, 12))
def test_fused_scores_match_a_loop(first: dict[int, float], second: dict[int, float], weight: float, k: int) -> None:
    sums: dict[int, float] = {}
    for share, results in ((weight, first), (1 - weight, second)):
        low, high = min(results.values(), default=0), max(results.values(), default=0)
        for row, score in results.items():
            sums[row] = sums.get(row, 0.0) + share * ((score - low) / (high - low) if high > low else 1.0)
    rankings = (make_ranking(dict(sorted(part.items(), key=lambda item: -item[1]))) for part in (first, second))
    scores, rows = fuse_scores(*rankings, weight, k)
    expected = sorted(sums, key=lambda row: (-sums[row], row))[:k]
    assert rows[0].tolist() == [*expected, *[-1] * (k - len(expected))]
    assert scores[0][: len(expected)].tolist() == pytest.approx([sums[row] for row in expected], abs=1e-6)
