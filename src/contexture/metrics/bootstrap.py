"""Confidence intervals of means over queries."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Numbers that are drawn at a time.
_MAX_DRAWN_NUMBERS = 2**22


def bootstrap_interval(values: ArrayLike, level: float = 0.95, draws: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The interval of the mean of `values`, one per query: see `bootstrap_intervals`. For one query both ends are its value."""
    ((low, high),) = bootstrap_intervals(np.asarray(values, np.float64)[:, None], level, draws, seed)
    return float(low), float(high)


def bootstrap_intervals(
    values: ArrayLike, level: float = 0.95, draws: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """Percentile bootstrap intervals of the means of columns (queries, columns): lower and upper ends (columns, 2).

    Each of the `draws` samples has as many queries, drawn with replacement; all columns share the samples. ValueError
    for no queries, or a value that is not finite.
    """
    table = np.asarray(values, np.float64)
    queries = len(table)
    if not table.size or not np.isfinite(table).all():
        raise ValueError(f"{queries} values: one or more are needed, and all of them finite")
    rng = np.random.default_rng(seed)
    batch = max(1, _MAX_DRAWN_NUMBERS // queries)
    means = []
    for start in range(0, draws, batch):
        samples = rng.integers(0, queries, (min(batch, draws - start), queries))
        # How often each query is drawn in each sample.
        counts = np.stack([np.bincount(sample, minlength=queries) for sample in samples])
        means.append(counts.astype(np.float64) @ table / queries)
    ends = [(1 - level) / 2, (1 + level) / 2]
    return np.asarray(np.quantile(np.concatenate(means), ends, axis=0).T, np.float64)
