"""Ranks of right candidates, and what they are worth."""

import numpy as np
import pytest

from contexture.reporting.records import METRICS as KNOWN
from contexture.tasks.ranking.ranks import METRICS, measures, right_ranks


def test_among_equal_scores_the_right_ones_are_last() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.5, 0.1])
    assert right_ranks(scores, np.array([1, 0, 0, 1, 1], bool)).tolist() == [3, 4, 5]
    assert right_ranks(scores, np.array([0, 1, 0, 0, 0], bool)).tolist() == [1]
    assert right_ranks(np.zeros(3), np.array([1, 0, 0], bool)).tolist() == [3]
    assert right_ranks(np.array([]), np.array([], bool)).tolist() == []
    with pytest.raises(ValueError, match="not a number"):
        right_ranks(np.array([np.nan, 1.0]), np.array([True, False]))


def test_one_right_candidate_is_enough_or_all_are_needed() -> None:
    ranks = np.array([1, 20, 21])
    assert measures(ranks, 4, all_needed=False) == [1, 1, 1]
    assert measures(ranks, 4, all_needed=True) == [1 / 4, 2 / 4, 1]
    assert measures(np.array([4]), 2, all_needed=True) == [0, 1 / 2, 1 / 4]
    assert measures(np.array([], int), 1, all_needed=False) == [0, 0, 0]
    assert METRICS == ["recall_at_1", "recall_at_20", "mrr"] and set(METRICS) <= set(KNOWN)
