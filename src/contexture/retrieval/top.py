"""The best of many scores in an order that nothing but the scores and the row numbers decides."""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]

#: Row of a place that no candidate takes, because fewer than k were found; its score is −inf.
NOTHING = -1
_ROWS = 2**32


def best(scores: Scores, rows: Rows, k: int) -> tuple[Scores, Rows]:
    """Return the k best rows of each line: score down, then row number up.

    Args:
        scores: [lines, n], never NaN.
        rows: [lines, n] or [n], the number (below 2³²) of the row that each score is for; NOTHING for none.
        k: how many to keep; with fewer scores, all of them.

    Returns:
        Scores and rows, [lines, min(k, n)], best first.
    """
    keys = _keys(scores, rows)
    kept = min(k, keys.shape[1])
    if kept < keys.shape[1]:
        keys = np.partition(keys, kept - 1, axis=1)[:, :kept]
    return _scores_and_rows(np.sort(keys, axis=1))


# One integer a score, the smaller the better: so partition and sort need no second thought about ties. Its upper half
# falls as the score rises, its lower half is the row.
def _keys(scores: Scores, rows: Rows) -> Rows:
    bits = (scores.astype(np.float32) + np.float32(0)).view(np.int32)  # + 0: -0.0 and 0.0 are the same score
    falling = ~_ordered(bits).astype(np.int64)
    return falling * _ROWS + np.where(rows < 0, _ROWS - 1, rows)


def _scores_and_rows(keys: Rows) -> tuple[Scores, Rows]:
    rows = keys % _ROWS
    bits = _ordered((~(keys // _ROWS)).astype(np.int32))
    return bits.view(np.float32), np.where(rows == _ROWS - 1, NOTHING, rows)


def _ordered(bits: NDArray[np.int32]) -> NDArray[np.int32]:
    """Bits of floats ↔ integers in the order of the floats: those of negative numbers run the other way."""
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)
