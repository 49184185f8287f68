"""Confidence intervals of means over queries."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Numbers that are drawn at once.
_MAX_DRAWN_NUMBERS = 2**22


def bootstrap_interval(values: ArrayLike, level: float = 0.95, draws: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Return the confidence interval (low, high) of the mean of `values`, one per query; see `bootstrap_intervals`."""
    ((low, high),) = bootstrap_intervals(np.asarray(values, np.float64)[:, None], level, draws, seed)
    return float(low), float(high)


def bootstrap_intervals(
    values: ArrayLike, level: float = 0.95, draws: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """Return percentile bootstrap intervals (columns, 2) of the means of columns of `values` (queries, columns).

    Each of the `draws` samples draws as many queries with replacement; all columns share the samples. Raises ValueError
    without queries or for a value that is not finite.
    """
    table = np.asarray(values, np.float64)
    queries = len(table)
    if not table.size or not np.isfinite(table).all():
        raise ValueError(f"{queries} values: at least one is needed, and all must be finite")
    rng = np.random.default_rng(seed)
    batch = max(1, _MAX_DRAWN_NUMBERS // queries)
    means = []
    for start in range(0, draws, batch):
        samples = rng.integers(0, queries, (min(batch, draws - start), queries))
        counts = np.stack([np.bincount(sample, minlength=queries) for sample in samples])
        means.append(counts.astype(np.float64) @ table / queries)
    ends = [(1 - level) / 2, (1 + level) / 2]
    return np.asarray(np.quantile(np.concatenate(means), ends, axis=0).T, np.float64)
