"""nDCG and recall by hand, and nDCG against scikit-learn."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from contexture.metrics.graded import METRICS, graded_metrics


def test_by_hand() -> None:
    """Grades 2, 1, 1 at the ranks 2, 3 and none; then 1 and 3 in the wrong order."""
    metrics = graded_metrics(
        [["x", "a", "b", "y"], ["c", "d"]], [{"a": 2, "b": 1, "lost": 1, "y": 0, "x": -1}, {"c": 1, "d": 3}]
    )
    assert list(metrics.columns) == METRICS == ["ndcg_at_10", "recall_at_1", "recall_at_10", "recall_at_100"]
    ideal = 2 + 1 / log2(3) + 1 / 2
    assert metrics.values.tolist() == [
        pytest.approx([(2 / log2(3) + 1 / 2) / ideal, 0, 2 / 3, 2 / 3]),
        pytest.approx([(1 + 3 / log2(3)) / (3 + 1 / log2(3)), 1 / 2, 1, 1]),
    ]


def test_depths() -> None:
    """Twelve items are relevant, with the ranks 1, 2, 11, 100 and 101."""
    irrelevant = iter(range(1000, 2000))
    ranking = [rank if rank in (1, 2, 11, 100, 101) else next(irrelevant) for rank in range(1, 102)]
    relevant = dict.fromkeys([1, 2, 11, 100, 101, *range(200, 207)], 1)
    (metrics,) = graded_metrics([ranking], [relevant]).values.tolist()
    ideal = sum(1 / log2(rank + 1) for rank in range(1, 11))
    assert metrics == pytest.approx([(1 + 1 / log2(3)) / ideal, 1 / 12, 2 / 12, 4 / 12])


def test_rankings_without_relevant_items() -> None:
    assert graded_metrics([[], [-1, -1]], [{"a": 1}, {3: 1}]).values.tolist() == [[0.0] * 4] * 2


def test_undefined_metrics_fail() -> None:
    with pytest.raises(ValueError, match=r"query 1 \(from 0\) has no relevant item"):
        graded_metrics([["a"], ["a"]], [{"a": 1}, {"a": 0}])
    with pytest.raises(ValueError, match="1 rankings of 2 queries"):
        graded_metrics([["a"]], [{"a": 1}, {"b": 1}])
    assert graded_metrics([], []).shape == (0, 4)


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=25).filter(any),
    st.randoms(use_true_random=False),
    st.integers(10, 25),
)
def test_ndcg_is_that_of_scikit_learn(grades: list[int], draw: object, depth: int) -> None:
    order = list(range(len(grades)))
    draw.shuffle(order)  # type: ignore[attr-defined]
    scores = np.empty(len(grades))
    scores[order] = -np.arange(len(grades))
    (metrics,) = graded_metrics([order[:depth]], [dict(enumerate(grades))])["ndcg_at_10"]
    assert metrics == pytest.approx(ndcg_score([grades], [scores], k=10))
