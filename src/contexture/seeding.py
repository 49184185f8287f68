"""Randomness as a function of what it is for, so that a resumed run repeats an uninterrupted one."""

import numpy as np


def mix(*numbers: int) -> int:
    """One well-mixed 63-bit seed from several numbers (seed, step, rank, …)."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
