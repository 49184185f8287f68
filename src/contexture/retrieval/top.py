"""Select the best rows by score, and batch groups of rows."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]
#: Scores and rows of the best candidates of each query, both (Q, K), best first, padded with −∞ and −1.
Ranking = tuple[Scores, Rows]

#: Smaller differences between cosines are float32 rounding.
ROUNDING_ERROR = 1e-6
#: Row that pads a ranking with fewer than k candidates; its score is −inf.
NO_ROW = -1
_MAX_ROWS = 2**32


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
