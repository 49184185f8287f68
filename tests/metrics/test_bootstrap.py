"""Confidence intervals of means, compared with theory and SciPy."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import bootstrap

from contexture.metrics.bootstrap import bootstrap_interval, bootstrap_intervals


@pytest.mark.parametrize(("level", "deviations"), [(0.95, 1.96), (0.5, 0.674)])
def test_large_samples_have_the_normal_interval(level: float, deviations: float) -> None:
    values = np.random.default_rng(1).normal(3, 2, 4000)
    half = deviations * values.std() / np.sqrt(len(values))
    low, high = bootstrap_interval(values, level, draws=4000)
    assert [low, high] == pytest.approx([values.mean() - half, values.mean() + half], abs=0.08 * half)


def test_coverage_of_the_true_mean() -> None:
    draw = np.random.default_rng(2)
    samples = draw.binomial(1, 0.3, (300, 100))
    contains_mean = [low <= 0.3 <= high for low, high in (bootstrap_interval(sample, 0.9, 300) for sample in samples)]
    assert 0.83 < np.mean(contains_mean) < 0.96


def test_one_value_and_equal_values() -> None:
    assert bootstrap_interval([0.25]) == (0.25, 0.25)
    assert bootstrap_interval([0.25] * 7) == pytest.approx((0.25, 0.25))


def test_the_interval_depends_on_the_seed() -> None:
    values = np.random.default_rng(3).random(5000)
    assert bootstrap_interval(values) == bootstrap_interval(values.tolist()) != bootstrap_interval(values, seed=1)


@pytest.mark.parametrize("values", [[], [0.5, float("nan")]])
def test_missing_values_fail(values: list[float]) -> None:
    with pytest.raises(ValueError, match="at least one is needed"):
        bootstrap_interval(values)


def test_intervals_equal_those_of_scipy() -> None:
    values = np.random.default_rng(4).random((37, 3))
    options: dict[str, Any] = {"n_resamples": 500, "confidence_level": 0.9, "method": "percentile"}
    for column, ends in zip(values.T, bootstrap_intervals(values, 0.9, 500, seed=6), strict=True):
        expected = bootstrap((column,), np.mean, **options, rng=np.random.default_rng(6)).confidence_interval
        assert ends == pytest.approx([expected.low, expected.high])
        assert ends == pytest.approx(bootstrap_interval(column, 0.9, 500, seed=6))
