"""Select the best rows by score, fuse two rankings, and batch groups of rows."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]

#: Row that pads a ranking with fewer than k candidates; its score is −inf.
NO_ROW = -1
_MAX_ROWS = 2**32
#: Constant of reciprocal rank fusion that is added to each rank; a larger one weakens the first ranks.
RANK_OFFSET = 60
#: Fusion weight with which both rankings count alike.
EQUAL_WEIGHT = 0.5


def select_best(scores: Scores, rows: Rows, k: int) -> tuple[Scores, Rows]:
    """Return scores and rows of the k best per line, both [lines, min(k, n)], by falling score, then rising row.

    `scores` [lines, n] contain no NaN; `rows`, [lines, n] or [n], are below 2³² or NO_ROW.
    """
    # Encode score and row in one integer, so that one sort orders both: the upper half falls as the score rises,
    # the lower half is the row.
    bits = (scores.astype(np.float32) + np.float32(0)).view(np.int32)  # + 0: -0.0 and 0.0 are the same score
    keys = ~_flip_negative(bits).astype(np.int64) * _MAX_ROWS + np.where(rows < 0, _MAX_ROWS - 1, rows)
    if k < keys.shape[1]:
        keys = np.partition(keys, k - 1, axis=1)[:, :k]
    keys.sort(axis=1)
    rows = keys % _MAX_ROWS
    bits = _flip_negative((~(keys // _MAX_ROWS)).astype(np.int32))
    return bits.view(np.float32), np.where(rows == _MAX_ROWS - 1, NO_ROW, rows)


def fuse(first: Rows, second: Rows, weight: float, k: int) -> tuple[Scores, Rows]:
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


def group_batches(starts: Rows, size: int) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, end) of groups with at most `size` members together; a larger group is alone.

    `starts` (groups + 1,) is the first member of each group, then the number of members.
    """
    first = 0
    while first < len(starts) - 1:
        end = max(int(np.searchsorted(starts, starts[first] + size, side="right")) - 1, first + 1)
        yield first, end
        first = end


def _flip_negative(bits: NDArray[np.int32]) -> NDArray[np.int32]:
    """Map bits of floats to integers in the order of the floats, and back."""
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
