"""Reciprocal rank fusion, by hand and against a slow loop."""

import numpy as np
import pytest

from contexture.retrieval.fusion import DAMPING, fuse


def test_by_hand() -> None:
    first, second = np.array([[5, 3, -1]]), np.array([[3, 7]])
    # 3 is second and first, 5 and 7 are first and second of one ranking each.
    scores, rows = fuse(first, second, 0.5, 4)
    assert rows.tolist() == [[3, 5, 7, -1]]
    assert scores[0].tolist() == pytest.approx([0.5 / 62 + 0.5 / 61, 0.5 / 61, 0.5 / 62, -np.inf])
    assert fuse(first, second, 1.0, 2)[1].tolist() == [[5, 3]]
    assert fuse(first, second, 0.0, 2)[1].tolist() == [[3, 7]]


def test_against_a_loop() -> None:
    draw = np.random.default_rng(0)
    first, second = (np.array([draw.permutation(30)[:12] for _ in range(20)]) for _ in range(2))
    found = fuse(first, second, 0.3, 10)[1]
    for query in range(20):
        scores: dict[int, float] = {}
        for weight, rows in ((0.3, first[query]), (0.7, second[query])):
            for rank, row in enumerate(rows, start=1):
                scores[int(row)] = scores.get(int(row), 0.0) + weight / (DAMPING + rank)
        expected = sorted(scores, key=lambda row: (-scores[row], row))[:10]
        assert found[query].tolist() == expected


def test_what_cannot_be_fused() -> None:
    with pytest.raises(ValueError, match="cannot be fused"):
        fuse(np.zeros((2, 1), np.int64), np.zeros((3, 1), np.int64), 0.5, 1)
