"""Fuse two rankings of the same queries: by their ranks, or by their scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contexture.retrieval.top import NO_ROW, Ranking, Rows, Scores

#: Constant of reciprocal rank fusion that is added to each rank; a larger one weakens the first ranks.
RANK_OFFSET = 60
#: Fusion weight with which both rankings count alike.
EQUAL_WEIGHT = 0.5


def fuse_ranks(first: Rows, second: Rows, weight: float, k: int) -> tuple[Scores, Rows]:
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
    weights = np.concatenate(
        [part / (RANK_OFFSET + 1 + np.arange(rows.shape[1])) for part, rows in ((weight, first), (1 - weight, second))]
    )
    scores = np.full((len(first), k), -np.inf, np.float32)
    fused = np.full((len(first), k), NO_ROW, np.int64)
    for query, rows in enumerate(np.concatenate([first, second], axis=1)):
        is_row = rows != NO_ROW
        unique_rows, inverse = np.unique(rows[is_row], return_inverse=True)
        sums = np.bincount(inverse, weights[is_row], len(unique_rows))
        order = np.argsort(-sums, kind="stable")[:k]
        scores[query, : len(order)], fused[query, : len(order)] = sums[order], unique_rows[order]
    return scores, fused


def fuse_scores(first: Ranking, second: Ranking, weights: Sequence[float], k: int) -> list[Ranking]:
    """Fuse two rankings by weight · first + (1 − weight) · second of their scores, for each weight; return the k best.

    The scores of a query are scaled to 0 … 1 in each ranking, by their minimum and maximum; a row that a ranking lacks
    has 0 there (convex combination of Bruch, Gai and Ingber, 2023, with min-max scaling). Ties are ordered by row.
    """
    num_queries = len(first[1])
    if num_queries != len(second[1]):
        raise ValueError(f"cannot fuse rankings of {num_queries} and {len(second[1])} queries")
    fused = [
        (np.full((num_queries, k), -np.inf, np.float32), np.full((num_queries, k), NO_ROW, np.int64)) for _ in weights
    ]
    scaled = [_scale(scores, rows) for scores, rows in (first, second)]
    for query in range(num_queries):
        rows = np.concatenate([first[1][query], second[1][query]])
        is_row = rows != NO_ROW
        unique_rows, inverse = np.unique(rows[is_row], return_inverse=True)
        values = np.zeros((2, len(unique_rows)))
        num_first = int(is_row[: first[1].shape[1]].sum())
        for part, columns, line in ((0, inverse[:num_first], scaled[0]), (1, inverse[num_first:], scaled[1])):
            values[part, columns] = line[query][: len(columns)]
        for weight, (scores, best_rows) in zip(weights, fused, strict=True):
            sums = weight * values[0] + (1 - weight) * values[1]
            order = np.argsort(-sums, kind="stable")[:k]
            scores[query, : len(order)], best_rows[query, : len(order)] = sums[order], unique_rows[order]
    return fused


def _scale(scores: Scores, rows: Rows) -> NDArray[np.float64]:
    """Scale the scores of each query to 0 … 1; equal scores are 1."""
    values = scores.astype(np.float64)
    is_row = rows != NO_ROW
    low = np.where(is_row, values, np.inf).min(axis=1, keepdims=True, initial=np.inf)
    high = np.where(is_row, values, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    width = np.where(high > low, high - low, 1.0)
    return np.where(is_row, np.where(high > low, (values - low) / width, 1.0), 0.0)
