"""Two rankings made one: reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

import numpy as np

from contexture.retrieval.top import NOTHING, Rows, Scores

#: What is added to each rank: the greater, the less the first places count for.
DAMPING = 60
#: The weight where nothing says which ranking is the better.
EVEN = 0.5


def fuse(first: Rows, second: Rows, weight: float, k: int) -> tuple[Scores, Rows]:
    """The k best of two rankings of the same queries.

    Args:
        first: (Q, K) rows that were found, best first, −1 where nothing was.
        second: (Q, L) the same, by another search.
        weight: of the first, from 0 to 1; the second has the rest.
        k: how many are wanted of each query.

    Returns:
        Scores Σ weight / (60 + rank) and rows (Q, k), best first, equal ones by their number; where there are no more,
        −∞ and −1.
    """
    if len(first) != len(second) or not 0 <= weight <= 1:
        raise ValueError(f"rankings of {len(first)} and {len(second)} queries, weight {weight}: cannot be fused")
    worth = np.concatenate(
        [part / (DAMPING + 1 + np.arange(found.shape[1])) for part, found in ((weight, first), (1 - weight, second))]
    )
    scores = np.full((len(first), k), -np.inf, np.float32)
    fused = np.full((len(first), k), NOTHING, np.int64)
    for query, rows in enumerate(np.concatenate([first, second], axis=1)):
        there = rows != NOTHING
        names, places = np.unique(rows[there], return_inverse=True)
        sums = np.bincount(places, worth[there], len(names))
        best = np.argsort(-sums, kind="stable")[:k]
        scores[query, : len(best)], fused[query, : len(best)] = sums[best], names[best]
    return scores, fused
