"""Fuse two rankings of the same queries: by their ranks, or by their scores."""

import numpy as np
from numpy.typing import NDArray

from contexture.retrieval.top import NO_ROW, Ranking, Rows, Scores

#: Constant of reciprocal rank fusion that is added to each rank; a larger one weakens the first ranks.
RANK_OFFSET = 60
#: Fusion weight with which both rankings count alike.
EQUAL_WEIGHT = 0.5


def fuse_ranks(first: Rows, second: Rows, weight: float, k: int) -> Ranking:
    """Fuse two rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009); return the k best.

    The rankings are rows (Q, K) and (Q, L) of the same queries, best first, padded with −1; the second has the weight
    1 − `weight`. Returns scores Σ weight / (60 + rank) and rows, both (Q, k), best first, ties by row, padded with −∞
    and −1.
    """
    if len(first) != len(second) or not 0 <= weight <= 1:
        raise ValueError(
            f"cannot fuse rankings of {len(first)} and {len(second)} queries with weight {weight}: they need the same "
            "queries, and a weight from 0 to 1"
        )
    parts = ((weight, first), (1 - weight, second))
    values = [part / (RANK_OFFSET + 1 + np.arange(rows.shape[1])) for part, rows in parts]
    rows = np.concatenate([first, second], axis=1)
    return _sum_values(rows, np.broadcast_to(np.concatenate(values), rows.shape), k)


def fuse_scores(first: Ranking, second: Ranking, weight: float, k: int) -> Ranking:
    """Fuse two rankings by weight · first + (1 − weight) · second of their scores; return the k best.

    The scores of a query are scaled to 0 … 1 in each ranking, by their minimum and maximum; a row that a ranking lacks
    has 0 there (convex combination of Bruch, Gai and Ingber, 2023, with min-max scaling). Ties are ordered by row.
    """
    if len(first[1]) != len(second[1]):
        raise ValueError(f"cannot fuse rankings of {len(first[1])} and {len(second[1])} queries")
    values = [weight * _scale(*first), (1 - weight) * _scale(*second)]
    return _sum_values(np.concatenate([first[1], second[1]], axis=1), np.concatenate(values, axis=1), k)


def _sum_values(rows: Rows, values: NDArray[np.float64], k: int) -> Ranking:
    """Add the values (Q, N) of equal rows (Q, N); return the k rows with the largest sums, ties by row."""
    scores = np.full((len(rows), k), -np.inf, np.float32)
    best_rows = np.full((len(rows), k), NO_ROW, np.int64)
    for query, (query_rows, query_values) in enumerate(zip(rows, values, strict=True)):
        is_row = query_rows != NO_ROW
        unique_rows, inverse = np.unique(query_rows[is_row], return_inverse=True)
        sums = np.bincount(inverse, query_values[is_row], len(unique_rows))
        order = np.argsort(-sums, kind="stable")[:k]
        scores[query, : len(order)], best_rows[query, : len(order)] = sums[order], unique_rows[order]
    return scores, best_rows


def _scale(scores: Scores, rows: Rows) -> NDArray[np.float64]:
    """Scale the scores of each query to 0 … 1; equal scores are 1."""
    values = scores.astype(np.float64)
    is_row = rows != NO_ROW
    low = np.where(is_row, values, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    high = np.where(is_row, values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    width = np.where(high > low, high - low, 1.0)
    return np.where(is_row, np.where(high > low, (values - low) / width, 1.0), 0.0)
