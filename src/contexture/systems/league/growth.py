"""How scores grow with the budget of training, and which row would lead with more of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log10, sqrt
from statistics import mean, median

import numpy as np
from scipy import stats

from contexture.reporting.tables import Estimate
from contexture.systems.league.scores import League, LeagueColumn

#: Multiples of the largest budget of all leagues that are forecast.
FACTORS = (10, 100)

#: FLOPs → scores of the seeds.
Points = Mapping[float, Sequence[float]]


@dataclass(frozen=True)
class Line:
    """A least-squares line through scores over log10(FLOPs)."""

    points: Points

    @cached_property
    def _fit(self) -> tuple[float, float, float, float, int]:
        """Slope, score and log10(FLOPs) at the middle, sum of squared distances from it, and number of scores."""
        x = np.array([log10(flops) for flops, scores in self.points.items() for _ in scores])
        y = np.concatenate([np.asarray(scores, float) for scores in self.points.values()])
        spread = float(((x - x.mean()) ** 2).sum())
        return float(((x - x.mean()) * y).sum() / spread), float(y.mean()), float(x.mean()), spread, len(y)

    @property
    def slope(self) -> float:
        """Points per ten times as many FLOPs."""
        return self._fit[0]

    def at(self, flops: float) -> float:
        """Return the score on the line."""
        slope, middle, centre, *_ = self._fit
        return middle + slope * (log10(flops) - centre)

    def forecast(self, flops: float, seeds: float | None = None) -> Estimate:
        """Return the mean score of `seeds` trainings (default: as many as before), with half of its 95% interval.

        The interval is Student's for new observations of a linear regression. It covers the scatter of the seeds and
        the error of the line, but not that the true curve bends. Two scores have none.
        """
        *_, centre, spread, count = self._fit
        free = count - 2
        if free < 1:
            return Estimate(self.at(flops), None)
        squares = sum((score - self.at(x)) ** 2 for x, scores in self.points.items() for score in scores)
        seeds = seeds or count / len(self.points)
        deviation = sqrt(squares / free * (1 / seeds + 1 / count + (log10(flops) - centre) ** 2 / spread))
        return Estimate(self.at(flops), float(stats.t.ppf(0.975, free)) * deviation)


@dataclass(frozen=True)
class Growth:
    """Scores of a row at several budgets."""

    points: Points

    @cached_property
    def line(self) -> Line:
        """The line through all scores."""
        return Line(self.points)

    @property
    def largest(self) -> float:
        """FLOPs of the largest budget."""
        return max(self.points)

    @property
    def held_out(self) -> tuple[Estimate, float] | None:
        """The forecast for the largest budget from the others, and the measured mean; None with two budgets."""
        smaller = {flops: scores for flops, scores in self.points.items() if flops != self.largest}
        if len(smaller) < 2:
            return None
        measured = self.points[self.largest]
        return Line(smaller).forecast(self.largest, len(measured)), mean(measured)


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
    """Raise ValueError if a variant has encoders of different sizes in two leagues."""
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
