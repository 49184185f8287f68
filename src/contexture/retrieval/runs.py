"""Groups of unlike size, as many of them together as there is room for."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def runs(starts: NDArray[np.int64], room: int) -> Iterator[tuple[int, int]]:
    """Cut consecutive groups into runs of at most `room` members, or of one group that has more.

    Args:
        starts: where each group begins, and at last where the last one ends: (groups + 1,).
        room: members.

    Returns:
        The first group of each run, and the one after its last.
    """
    first = 0
    while first < len(starts) - 1:
        end = max(int(np.searchsorted(starts, starts[first] + room, side="right")) - 1, first + 1)
        yield first, end
        first = end
