"""A mean over seeds and its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev

from scipy import stats


@dataclass(frozen=True)
class Estimate:
    """Mean over seeds and half the width of its 95% interval; no interval with one seed."""

    mean: float
    interval: float | None

    def overlaps(self, other: "Estimate") -> bool:
        """Whether the intervals of both do; a number without one is a point."""
        return abs(self.mean - other.mean) <= (self.interval or 0.0) + (other.interval or 0.0)


def estimate(values: Sequence[float]) -> Estimate | None:
    """Of one value a seed: mean and Student's t interval; None of none."""
    if not values:
        return None
    if len(values) < 2:
        return Estimate(values[0], None)
    t = float(stats.t.ppf(0.975, len(values) - 1))
    return Estimate(mean(values), t * stdev(values) / sqrt(len(values)))
