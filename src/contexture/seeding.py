"""Random seeds derived from what they are for, so that a resumed run repeats an uninterrupted one."""

import numpy as np


def mix(*numbers: int) -> int:
    """Return a 63-bit random seed that depends on several numbers (seed, step, rank, …)."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
