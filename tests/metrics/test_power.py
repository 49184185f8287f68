"""The number of seeds that a paired t-test needs, compared with published tables and another computation."""

import numpy as np
import pytest
from scipy import integrate, stats

from contexture.metrics.power import MAX_SEEDS, count_needed_seeds, paired_power


def integrate_power(effect: float, seeds: int, level: float) -> float:
    """Return the power by its definition: the mean over the sample deviation of the probability that |t| is large."""
    freedom, shift = seeds - 1, effect * np.sqrt(seeds)
    critical = stats.t.ppf(1 - level / 2, freedom)

    def density(deviation: float) -> float:
        bound = critical * deviation / np.sqrt(freedom)
        is_large = stats.norm.sf(bound - shift) + stats.norm.cdf(-bound - shift)
        return float(stats.chi.pdf(deviation, freedom) * is_large)

    return float(integrate.quad(density, 0, np.sqrt(freedom) + 10)[0])


@pytest.mark.parametrize("effect", [0.0, 0.2, -0.5, 1.0, 3.0])
@pytest.mark.parametrize("seeds", [2, 3, 10, 34])
def test_the_power_is_that_of_its_definition(effect: float, seeds: int) -> None:
    for level in (0.05, 0.01):
        assert paired_power(effect, seeds, level) == pytest.approx(integrate_power(effect, seeds, level), abs=1e-6)


def test_the_power_is_that_of_the_test_by_f() -> None:
    """t² has the noncentral F distribution."""
    for effect in (0.01, 0.3, 5.0, 1000.0):
        for seeds in (2, 5, 10, 300):
            bound = stats.f.isf(0.05, 1, seeds - 1)
            assert paired_power(effect, seeds) == pytest.approx(stats.ncf.sf(bound, 1, seeds - 1, seeds * effect**2))


@pytest.mark.parametrize(("effect", "seeds"), [(0.2, 199), (0.5, 34), (0.8, 15), (1.0, 10), (2.0, 5)])
def test_needed_seeds_are_those_of_published_tables(effect: float, seeds: int) -> None:
    """Sample sizes of the paired t-test, two-sided at 5% with a power of 80% (as of G*Power)."""
    assert count_needed_seeds(effect) == count_needed_seeds(-effect) == seeds
    assert integrate_power(effect, seeds, 0.05) >= 0.8 > integrate_power(effect, seeds - 1, 0.05)


def test_the_power_is_the_share_of_significant_samples() -> None:
    samples = np.random.default_rng(0).normal(1.2, 1, (20_000, 5))
    share = (stats.ttest_1samp(samples, 0, axis=1).pvalue < 0.05).mean()
    assert paired_power(1.2, 5) == pytest.approx(share, abs=0.01)


def test_seeds_for_two_tests_that_must_both_succeed() -> None:
    """Is a difference without an effect between -1 and 1 standard deviation? The interval must lie between them."""
    seeds = count_needed_seeds(1.0, -1.0) or 0
    samples = np.random.default_rng(0).normal(0, 1, (20_000, seeds))
    interval = stats.t.ppf(0.975, seeds - 1) * samples.std(axis=1, ddof=1) / np.sqrt(seeds)
    assert (np.abs(samples.mean(axis=1)) + interval < 1).mean() == pytest.approx(0.8, abs=0.03)
    assert count_needed_seeds(1.0) == 10 < seeds
    assert count_needed_seeds(1.0, 9.0) == 10


def test_large_and_missing_effects() -> None:
    assert count_needed_seeds(1000.0) == 2
    assert count_needed_seeds(0.0) is None
    assert count_needed_seeds(0.01) is None and MAX_SEEDS == 1000
