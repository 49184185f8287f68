"""Similarity by cosine, compared with values by hand and by loops."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contexture.tasks.sentences.similarity import cosine_similarity, measure_similarity
from contexture.tasks.sentences.tables import SimilarityTask

#: Cosines with "east" by hand: 1, 0.8, 0.6, 0, −1 and, for no direction at all, 0.
VECTORS = {
    "east": (1, 0),
    "far east": (900, 0),
    "near east": (0.8, 0.6),
    "north east": (3, 4),
    "north": (0, 2),
    "west": (-1, 0),
    "nowhere": (0, 0),
}


def look_up(sentences: Sequence[str]) -> NDArray[np.float32]:
    assert len(set(sentences)) == len(sentences), "each sentence is embedded once"
    return np.array([VECTORS[sentence] for sentence in sentences], dtype=np.float32)


def make_task(rows: list[tuple[str, str, float]], other: str = "east") -> SimilarityTask:
    table = pd.DataFrame(rows, columns=["subset", "text", "score"])
    table.insert(2, "text2", other)
    return SimilarityTask("sts12", table)


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the correlation from sums."""
    mx, my = math.fsum(x) / len(x), math.fsum(y) / len(y)
    sxy = math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return sxy / math.sqrt(math.fsum((a - mx) ** 2 for a in x) * math.fsum((b - my) ** 2 for b in y))


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the Pearson correlation of mean ranks."""
    ranks = [[sum(b < a for b in values) + sum(b == a for b in values) / 2 for a in values] for values in (x, y)]
    return pearson(*ranks)


def test_six_aggregates_by_hand():
    # Cosines of the first subset: 1, 0.8, 0.6 against 3, 2, 1, so both correlations are 1. Of the second: 0, −1 against
    # 4, 5, so both are −1. Together (1, 3), (.8, 2), (.6, 1), (0, 4), (−1, 5).
    rows = [("x", "far east", 3.0), ("x", "near east", 2.0), ("x", "north east", 1.0)]
    rows += [("b", "north", 4.0), ("b", "west", 5.0)]
    result = measure_similarity(make_task(rows), look_up)
    assert result.subsets["subset"].tolist() == ["x", "b"] and result.subsets["pairs"].tolist() == [3, 2]
    assert result.subsets["pearson"].tolist() == pytest.approx([1, -1])
    assert result.subsets["spearman"].tolist() == pytest.approx([1, -1])
    # Means 0.28 and 3; sum of products −4, of squares 2.608 and 10; ranks are 2, 2, 2, 2 and 4 apart, 32 in squares.
    assert result.aggregates == pytest.approx(
        {
            "pearson_mean": 0,
            "pearson_weighted_mean": 0.2,
            "pearson_pooled": -4.0 / math.sqrt(2.608 * 10),
            "spearman_mean": 0,
            "spearman_weighted_mean": 0.2,
            "spearman_pooled": 1 - 6 * 32 / (5 * 24),
        },
        abs=1e-6,
    )


def test_ties_have_mean_ranks():
    rows = [("x", "east", 5.0), ("x", "far east", 3.0), ("x", "north", 3.0), ("x", "west", 1.0)]
    # Ranks of cosines 3.5, 3.5, 2, 1 and of scores 4, 2.5, 2.5, 1.
    expected = np.corrcoef([3.5, 3.5, 2, 1], [4, 2.5, 2.5, 1])[0, 1]
    assert measure_similarity(make_task(rows), look_up).aggregates["spearman_mean"] == pytest.approx(expected)


def test_zero_vectors_count_as_cosine_0():
    result = measure_similarity(make_task([("x", "east", 5.0), ("x", "nowhere", 1.0), ("x", "west", 0.0)]), look_up)
    assert result.aggregates["pearson_pooled"] == pytest.approx(pearson([1, 0, -1], [5, 1, 0]))
    # A constant cosine correlates with nothing.
    for other in ("north", "nowhere"):
        result = measure_similarity(make_task([("x", "east", 5.0), ("x", "west", 1.0)], other), look_up)
        assert set(result.aggregates.values()) == {0.0}


def test_equal_cosines_are_ties_in_spite_of_rounding():
    # The same numbers in another order have the same cosine with (1, 1, 1), but not the same sums of rounded products.
    vectors = {"a": (0.1, 0.7, 0.3), "b": (0.7, 0.3, 0.1), "c": (0.3, 0.1, 0.7), "d": (5, 5, 5), "east": (1, 1, 1)}
    rows = [("x", "a", 1.0), ("x", "b", 2.0), ("x", "c", 3.0), ("x", "d", 4.0)]
    result = measure_similarity(make_task(rows), lambda texts: np.array([vectors[text] for text in texts], np.float32))
    assert result.aggregates["spearman_pooled"] == pytest.approx(np.corrcoef([2, 2, 2, 4], [1, 2, 3, 4])[0, 1])


def test_errors_name_constant_scores_and_broken_encoders():
    rows = [("x", "east", 5.0), ("x", "west", 1.0)]
    for constant, size in (([("y", "east", 3.0), ("y", "west", 3.0)], 2), ([("y", "east", 3.0)], 1)):
        with pytest.raises(ValueError, match=rf"sts12, subset y: all {size} scores are 3, so that no"):
            measure_similarity(make_task([*rows, *constant]), look_up)
    with pytest.raises(ValueError, match="sts12: the vector of 'west' is not finite"):
        measure_similarity(
            make_task(rows), lambda texts: np.array([[np.nan if text == "west" else 1] for text in texts], "f4")
        )


@given(st.floats(1e-30, 1e30), st.floats(1e-30, 1e30))
def test_the_cosine_does_not_depend_on_lengths(a: float, b: float):
    left, right = np.array([[3 * a, 4 * a]], np.float32), np.array([[b, 0]], np.float32)
    assert cosine_similarity(left, right)[0] == pytest.approx(0.6, rel=1e-5)


@given(st.integers(0, 10_000), st.integers(3, 40))
@example(2512, 3)  # cosines that hardly differ
def test_against_loops(seed: int, pairs: int):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(2 * pairs, 3)).astype(np.float32)
    scores = rng.integers(0, 6, size=pairs).astype(float)
    scores[:2] = 0, 5
    table = pd.DataFrame({"subset": "s", "text": [f"{i}" for i in range(pairs)], "score": scores})
    table["text2"] = [f"{pairs + i}" for i in range(pairs)]
    result = measure_similarity(SimilarityTask("stsb", table), lambda texts: vectors[[int(text) for text in texts]])
    rows = vectors.astype(float).tolist()
    cosines = [
        math.fsum(a * b for a, b in zip(x, y, strict=True)) / (math.hypot(*x) * math.hypot(*y))
        for x, y in zip(rows[:pairs], rows[pairs:], strict=True)
    ]
    # Cosines are rounded to 10 digits, and a correlation of some that hardly differ makes more of it.
    assert result.aggregates["pearson_pooled"] == pytest.approx(pearson(cosines, scores.tolist()), abs=1e-6)
    assert result.aggregates["spearman_pooled"] == pytest.approx(spearman(cosines, scores.tolist()), abs=1e-9)
