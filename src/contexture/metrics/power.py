"""Number of seeds that a paired t-test needs."""

from scipy import stats

#: Larger numbers of seeds are not searched.
MAX_SEEDS = 1000


def paired_power(effect: float, seeds: int, level: float = 0.05) -> float:
    """Return the power of Student's paired t-test, two-sided at `level`, with `seeds` differences (at least 2).

    `effect` is the mean of the differences in units of their standard deviation.
    """
    freedom, shift = seeds - 1, abs(effect) * seeds**0.5
    critical = stats.t.isf(level / 2, freedom)
    # The second tail is mirrored, because nct.cdf is not a number for some large shifts.
    return float(stats.nct.sf(critical, freedom, shift) + stats.nct.sf(critical, freedom, -shift))


def count_needed_seeds(*effects: float, power: float = 0.8, level: float = 0.05) -> int | None:
    """Return the smallest number of seeds with this power for tests of all `effects`; None if it is above `MAX_SEEDS`.

    The shares of samples in which the tests fail are added, as if no sample failed twice. See `paired_power`.
    """
    counts = range(2, MAX_SEEDS + 1)
    return next((n for n in counts if sum(1 - paired_power(e, n, level) for e in effects) <= 1 - power), None)
