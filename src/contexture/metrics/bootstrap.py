"""How far a mean over queries is to be trusted."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import bootstrap

#: Numbers that are drawn at a time.
_DRAWN = 2**22


def interval(values: ArrayLike, level: float = 0.95, draws: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The percentile bootstrap's interval of the mean, over queries drawn with replacement.

    Args:
        values: one a query, or, of two searches compared, the difference of each query's.
        level: how likely the interval is to hold the mean, 0 to 1.
        draws: samples of as many queries.
        seed: the same one draws the same samples.

    Returns:
        Its lower and upper end; of one query, both are its value.

    Raises:
        ValueError: for no values, or one that is not finite.
    """
    found = np.asarray(values, np.float64)
    if not found.size or not np.isfinite(found).all():
        raise ValueError(f"{found.size} values: one or more are needed, and all of them finite")
    if found.size == 1:  # of which SciPy has no interval
        return float(found[0]), float(found[0])
    low, high = bootstrap(
        (found,),
        np.mean,
        n_resamples=draws,
        batch=max(1, _DRAWN // found.size),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(low), float(high)
