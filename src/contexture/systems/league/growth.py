"""How scores grow with the budget of training, and which row would lead with more of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log10, sqrt
from statistics import mean, median

import numpy as np
from scipy import stats

from contexture.reporting.tables import Estimate
from contexture.systems.league.scores import League, LeagueColumn

#: Multiples of the largest budget of all leagues that are forecast.
FACTORS = (10, 100)

#: Intervals from fewer degrees of freedom say nothing: with one, Student's t is 12.7.
MIN_FREE = 3

#: Budgets whose ratio is less are taken for the same one: the steps of a budget depend on the seed.
MIN_RATIO = 1.2

#: FLOPs → scores of the seeds.
Points = Mapping[float, Sequence[float]]


@dataclass(frozen=True)
class Scatter:
    """How far the mean scores of budgets are from their lines, over several rows."""

    variance: float
    #: Degrees of freedom of the variance: budgets less two for each line.
    free: int


@dataclass(frozen=True)
class Line:
    """A least-squares line through the mean scores of budgets over log10(FLOPs).

    Each budget is one point: its seeds share its deviation from the line, so they are not independent points.
    """

    points: Points

    @cached_property
    def _fit(self) -> tuple[float, float, float, float]:
        """Slope, score and log10(FLOPs) at the middle, and sum of squared distances of log10(FLOPs) from it."""
        x = np.log10([*self.points])
        y = np.array([mean(scores) for scores in self.points.values()])
        spread = float(((x - x.mean()) ** 2).sum())
        return float(((x - x.mean()) * y).sum() / spread), float(y.mean()), float(x.mean()), spread

    @property
    def slope(self) -> float:
        """Points per ten times as many FLOPs."""
        return self._fit[0]

    @property
    def squares(self) -> float:
        """Sum of the squared distances of the means from the line."""
        return sum((mean(scores) - self.at(flops)) ** 2 for flops, scores in self.points.items())

    @property
    def free(self) -> int:
        """Degrees of freedom of `squares`."""
        return len(self.points) - 2

    def at(self, flops: float) -> float:
        """Return the score on the line."""
        slope, middle, centre, _ = self._fit
        return middle + slope * (log10(flops) - centre)

    def forecast(self, flops: float, scatter: Scatter) -> Estimate:
        """Return the mean score of a budget, with half of its 95% interval; None if the scatter is hardly known.

        The interval is Student's for a new observation of a linear regression. It covers the error of the line and the
        scatter of budgets around it, but not that the true curve bends.
        """
        if scatter.free < MIN_FREE:
            return Estimate(self.at(flops), None)
        *_, centre, spread = self._fit
        deviation = sqrt(scatter.variance * (1 + 1 / len(self.points) + (log10(flops) - centre) ** 2 / spread))
        return Estimate(self.at(flops), float(stats.t.ppf(0.975, scatter.free)) * deviation)


@dataclass(frozen=True)
class Growth:
    """Scores of a row at several budgets."""

    points: Points

    @cached_property
    def line(self) -> Line:
        """The line through all budgets."""
        return Line(self.points)

    @property
    def largest(self) -> float:
        """FLOPs of the largest budget."""
        return max(self.points)

    @property
    def held_out(self) -> tuple[Line, float] | None:
        """The line through the other budgets, and the mean measured with the largest one; None with two budgets."""
        smaller = {flops: scores for flops, scores in self.points.items() if flops != self.largest}
        return (Line(smaller), mean(self.points[self.largest])) if len(smaller) > 1 else None


def pool_scatter(lines: Iterable[Line]) -> Scatter:
    """Return the scatter around the lines of several rows: a row with three budgets says little about its own."""
    all_lines = list(lines)
    free = sum(line.free for line in all_lines)
    return Scatter(sum(line.squares for line in all_lines) / free if free else 0.0, free)


def forecast_all(growths: Mapping[str, Growth], flops: float, widening: float = 1.0) -> dict[str, Estimate]:
    """Return variant → forecast of its mean score, with the scatter of all rows and intervals `widening` as wide."""
    scatter = pool_scatter(growth.line for growth in growths.values())
    forecasts = {variant: growth.line.forecast(flops, scatter) for variant, growth in growths.items()}
    return {
        variant: replace(forecast, interval=forecast.interval and widening * forecast.interval)
        for variant, forecast in forecasts.items()
    }


def check_forecasts(growths: Mapping[str, Growth]) -> dict[str, tuple[Estimate, float]]:
    """Return variant → forecast for its largest budget from the smaller ones, and the measured mean.

    Rows with two budgets are left out.
    """
    held_out = {variant: growth.held_out for variant, growth in growths.items()}
    scatter = pool_scatter(line for line, _ in filter(None, held_out.values()))
    return {
        variant: (check[0].forecast(growths[variant].largest, scatter), check[1])
        for variant, check in held_out.items()
        if check is not None
    }


def measure_widening(checks: Iterable[tuple[Estimate, float]]) -> float:
    """Return the factor by which intervals must be wider to contain 95% of the measured means; at least 1.

    `checks` are forecasts with what was measured. So conformal prediction corrects intervals whose model is not quite
    right, such as lines through curves that bend.
    """
    misses = [abs(forecast.mean - measured) / forecast.interval for forecast, measured in checks if forecast.interval]
    return max(1.0, float(np.quantile(misses, 0.95, method="inverted_cdf"))) if misses else 1.0


def collect_growth(leagues: Sequence[League], column: LeagueColumn) -> dict[str, Growth]:
    """Return variant → scores by budget, of variants that several leagues trained, from the highest forecast.

    The largest budget may have fewer rows. Variants of other systems are left out: their budget is their system's.
    """
    points: dict[str, dict[float, list[float]]] = {}
    for league in leagues:
        for variant in league.groups.get("objectives", ()):
            if scores := [*league.values(variant, column).values()]:
                points.setdefault(variant, {}).setdefault(float(league.costs[variant]["flops"]), []).extend(scores)
    made = {variant: Growth(by_flops) for variant, by_flops in points.items() if len(by_flops) > 1}
    target = list_targets(leagues)[0]
    return dict(sorted(made.items(), key=lambda item: -item[1].line.at(target)))


def check_leagues(leagues: Sequence[League]) -> None:
    """Raise ValueError if two leagues have the same budget, or encoders of different sizes for a variant."""
    budgets = sorted(map(find_budget, leagues))
    for smaller, larger in pairwise(budgets):
        if larger < MIN_RATIO * smaller:
            raise ValueError(
                f"two of the results have about {larger:.3g} FLOPs: seeds of one budget belong into one file, see "
                "contexture results save NAME --add"
            )
    sizes: dict[str, int] = {}
    for league in leagues:
        for variant in league.groups.get("objectives", ()):
            size = league.costs[variant]["parameters"]
            if sizes.setdefault(variant, size) != size:
                raise ValueError(
                    f"{variant} has {sizes[variant]:,} parameters in one of the results and {size:,} in another; "
                    "compare results with encoders of one size"
                )


def find_budget(league: League) -> float:
    """Return the FLOPs of a middle row; 0 if nothing was trained."""
    flops = [float(league.costs[variant]["flops"]) for variant in league.groups.get("objectives", ())]
    return median(flops) if flops else 0.0


def list_targets(leagues: Sequence[League]) -> list[float]:
    """Return the FLOPs that are forecast for all rows, also for those without a training of the largest budget."""
    return [factor * max(map(find_budget, leagues), default=0.0) for factor in FACTORS]


def list_references(leagues: Sequence[League], column: LeagueColumn) -> dict[str, float]:
    """Return untrained variants and baselines → mean over all leagues; equal scores with a seed count once."""
    scores: dict[str, set[tuple[int, float]]] = {}
    for league in leagues:
        for variant in league.references:
            scores.setdefault(variant, set()).update(league.values(variant, column).items())
    return {variant: mean(score for _, score in values) for variant, values in scores.items() if values}
