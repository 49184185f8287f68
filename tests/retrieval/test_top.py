"""Selection of the best scores and rank fusion, by hand and against slow loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.retrieval.top import NO_ROW, select_best

INF = float("inf")
floats = st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, -1.0, INF, -INF])


@settings(deadline=None)  # the cores may be shared
@given(st.lists(floats, min_size=1, max_size=30), st.integers(1, 40))
def test_order_is_that_of_a_stable_sort(values: list[float], k: int) -> None:
    order = sorted(range(len(values)), key=lambda row: (-values[row], row))[:k]
    scores, rows = select_best(np.array([values], np.float32), np.arange(len(values)), k)
    assert rows[0].tolist() == order
    assert scores[0].tolist() == [values[row] for row in order]


def test_rows_may_have_any_order_and_be_missing() -> None:
    scores = np.array([[1, 2, -INF, 2, 2]], np.float32)
    results = select_best(scores, np.array([[5, 2**32 - 2, NO_ROW, 7, 6]]), 5)
    assert results[0].tolist() == [[2, 2, 2, 1, -INF]]
    assert results[1].tolist() == [[6, 7, 2**32 - 2, 5, NO_ROW]]
    nothing = select_best(np.empty((3, 0), np.float32), np.empty((3, 0), np.int64), 4)
    assert nothing[0].shape == nothing[1].shape == (3, 0)


@pytest.mark.parametrize("k", [1, 99, 1000])
def test_many_lines(k: int) -> None:
    scores = np.random.default_rng(0).integers(-50, 50, (20, 1000)).astype(np.float32)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert (select_best(scores, np.arange(1000), k)[1] == order).all()
