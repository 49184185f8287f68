"""Where the right candidates stand, and what that is worth."""

import numpy as np
import numpy.typing as npt

from contexture.tasks.ranking.config import RECALL_AT

#: The metric names of the records.
METRICS = [*(f"recall_at_{k}" for k in RECALL_AT), "mrr"]

Numbers = npt.NDArray[np.floating]
Ranks = npt.NDArray[np.int64]


def right_ranks(scores: Numbers, right: npt.NDArray[np.bool_]) -> Ranks:
    """The ranks, from 1, of the right ones of a question's candidates; see `ordered`."""
    return np.flatnonzero(right[ordered(scores, right)]) + 1


def ordered(scores: Numbers, right: npt.NDArray[np.bool_]) -> Ranks:
    """Where a question's candidates stand, the best first; among equal scores the right ones are last.

    Raises ValueError for a score that is not a number.
    """
    if np.isnan(scores).any():
        raise ValueError("a score is not a number (did the training diverge?)")
    return np.lexsort((right, -scores))


def measures(ranks: Ranks, known: int, all_needed: bool) -> list[float]:
    """`METRICS` of one question.

    Args:
        ranks: of the right candidates that were ranked, rising.
        known: how many right ones there are, those that nobody can find among them.
        all_needed: whether recall is the share of the right ones that is found, or whether one is enough.
    """
    found = [int((ranks <= k).sum()) for k in RECALL_AT]
    recalls = [hits / known if all_needed else float(hits > 0) for hits in found]
    return [*recalls, 1 / int(ranks[0]) if len(ranks) else 0.0]
