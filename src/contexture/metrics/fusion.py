"""Two rankings made one: reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

import numpy as np

from contexture.metrics.top import NOTHING, Rows

#: What is added to each rank: the greater, the less the first places count for.
DAMPING = 60


def fuse(first: Rows, second: Rows, weight: float, k: int) -> Rows:
    """The k best of two rankings of the same queries.

    Args:
        first: (Q, K) rows that were found, best first, −1 where nothing was.
        second: (Q, L) the same, by another search.
        weight: of the first, from 0 to 1; the second has the rest.
        k: how many are wanted of each query.

    Returns:
        (Q, k) rows by Σ weight / (60 + rank), equal ones by their number; −1 where there are no more.
    """
    if len(first) != len(second) or not 0 <= weight <= 1:
        raise ValueError(f"rankings of {len(first)} and {len(second)} queries, weight {weight}: cannot be fused")
    worth = np.concatenate(
        [part / (DAMPING + 1 + np.arange(found.shape[1])) for part, found in ((weight, first), (1 - weight, second))]
    )
    fused = np.full((len(first), k), NOTHING, np.int64)
    for query, rows in enumerate(np.concatenate([first, second], axis=1)):
        there = rows != NOTHING
        names, places = np.unique(rows[there], return_inverse=True)
        best = np.argsort(-np.bincount(places, worth[there], len(names)), kind="stable")[:k]
        fused[query, : len(best)] = names[best]
    return fused
