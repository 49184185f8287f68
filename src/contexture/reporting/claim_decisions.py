"""Decide the claims of papers on the records of runs: shown, refuted or undecided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Literal

import pandas as pd

from contexture.metrics.bootstrap import bootstrap_interval
from contexture.metrics.power import MAX_SEEDS, count_needed_seeds
from contexture.reporting.claims import ClaimComparison, ClaimMeasure, ClaimRow, PaperClaim, PaperClaims
from contexture.reporting.names import DATA
from contexture.reporting.phrases import count_noun, join_names
from contexture.reporting.records import ScoreKey
from contexture.reporting.run_records import RunRecords
from contexture.reporting.seed_scores import SeedScores, share_seeds
from contexture.reporting.tables import ROUNDING, estimate

Verdict = Literal["shown", "refuted", "undecided"]
#: Costs count as equal if that of the row that the scores favour is at most this many times that of the other.
MAX_COST_RATIO = 1.25
#: Fewer seeds decide nothing: one has no spread, and the spread of two is rough.
MIN_SEEDS = 3


@dataclass(frozen=True)
class RowScore:
    """The mean of a row over the shared seeds, and that of its untrained start, in points.

    A row that is the difference of two variants has no start of its own: `is_below_start` is of the first variant.
    """

    score: float
    start: float | None = None
    #: Whether the variant is below its untrained start; None: there is no start.
    is_below_start: bool | None = None


@dataclass(frozen=True)
class Decision:
    """The outcome of one comparison on one measure in one run; numbers are in points."""

    comparison: ClaimComparison
    measure: ClaimMeasure
    verdict: Verdict = "undecided"
    #: Why it is undecided, with what would decide it.
    reason: str = ""
    #: Whether there is an interval, and no reason why the records cannot decide it whatever the interval is.
    can_decide: bool = False
    #: Variants without a score on the measure.
    missing: tuple[str, ...] = ()
    folder: Path | None = None
    #: System of the rows, if it is one of `PaperClaim.also_in`.
    also_in: str = ""
    a: RowScore | None = None
    b: RowScore | None = None
    difference: float | None = None
    #: Ends of the 95% interval of the difference.
    interval: tuple[float, float] | None = None
    seeds: int = 0
    #: Questions of the interval; 0: it is over seeds.
    questions: int = 0
    #: Test examples of the measure, of all tasks and data together; None: unknown.
    examples: int | None = None
    #: Seeds that would decide it; None: unknown.
    needed_seeds: int | None = None
    #: Tasks and data of the measure that the mean lacks.
    without: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    #: FLOPs of a training of a, and of b.
    flops: tuple[float, float] = (0.0, 0.0)
    #: Of all trainings of both rows.
    minutes: float = 0.0

    @property
    def is_measured(self) -> bool:
        """Whether both rows have scores."""
        return self.difference is not None


@dataclass(frozen=True)
class ClaimResult:
    """A claim with the decisions of all its comparisons, on all measures and runs."""

    id: str
    paper: str
    claim: PaperClaim
    decisions: tuple[Decision, ...] = field(default=())

    @cached_property
    def verdict(self) -> Verdict:
        """The claim's verdict: shown if each part is, refuted if a part is, else undecided.

        A part is a comparison on a measure.
        """
        parts: dict[tuple[ClaimComparison, ClaimMeasure], list[Decision]] = {}
        for decision in self.decisions:
            parts.setdefault((decision.comparison, decision.measure), []).append(decision)
        verdicts = [_combine_runs(decisions) for decisions in parts.values()]
        if "refuted" in verdicts:
            return "refuted"
        return "shown" if set(verdicts) == {"shown"} else "undecided"


def _combine_runs(decisions: Sequence[Decision]) -> Verdict:
    """Return the verdict of a part by several runs: that of the run with most seeds, and of those, most FLOPs.

    If each run that decides counted, every further run would be another chance for an error.
    """
    valid = [decision for decision in decisions if decision.can_decide] or decisions
    largest = max((decision.seeds, sum(decision.flops)) for decision in valid)
    verdicts = {decision.verdict for decision in valid if (decision.seeds, sum(decision.flops)) == largest}
    return verdicts.pop() if len(verdicts) == 1 else "undecided"


def decide_claims(papers: Mapping[str, PaperClaims], runs: Sequence[RunRecords]) -> list[ClaimResult]:
    """Return the results of all claims; `papers` maps systems to their claims. Rows of different runs never compare."""
    return [
        ClaimResult(name, paper.paper, claim, tuple(_decide_claim(system, paper, claim, runs)))
        for system, paper in papers.items()
        for name, claim in paper.claims.items()
    ]


def _decide_claim(system: str, paper: PaperClaims, claim: PaperClaim, runs: Sequence[RunRecords]) -> list[Decision]:
    """Return the decisions of each part of a claim: of the runs that measured it, or one that says what is missing."""
    decisions: list[Decision] = []
    if claim.needs:
        runs = [run for run in runs if claim.needs in (run.commands.get(system) or "")]
    for comparison in claim.comparisons:
        for measure in (paper.measures[name] for name in comparison.measures):
            part = [decide(comparison, measure, run, system) for run in runs or [RunRecords([])]]
            for other in claim.also_in:
                part += [replace(decide(comparison, measure, run, other), also_in=other) for run in runs]
            measured = [decision for decision in part if decision.is_measured]
            decisions += measured or [min(part, key=lambda decision: len(decision.missing))]
    return decisions


def decide(comparison: ClaimComparison, measure: ClaimMeasure, run: RunRecords, system: str) -> Decision:
    """Return the decision of a comparison on a measure; `system` is the default of its rows."""
    decision = Decision(comparison, measure, folder=run.folder)
    rows = _ComparedRows(comparison, measure, run, system)
    if missing := rows.unmeasured:
        return replace(decision, missing=tuple(missing), reason=f"no records of {join_names(missing)}")
    if not rows.seeds:
        return replace(decision, reason="the rows have no score, or no seed, in common")
    differences = rows.differences
    interval, questions = rows.estimate_interval()
    objection = rows.find_objection()
    verdict, reason, needed = _judge(comparison, differences, interval, questions)
    return replace(
        decision,
        verdict="undecided" if objection else verdict,
        can_decide=not objection and interval is not None,
        reason=objection or reason,
        a=rows.get_row_score(comparison.a),
        b=rows.get_row_score(comparison.b),
        difference=mean(differences),
        interval=interval,
        seeds=len(differences),
        questions=questions,
        examples=rows.count_examples(),
        needed_seeds=None if objection else needed,
        without=rows.without,
        texts=rows.texts,
        flops=(rows.get_mean_cost(comparison.a, "flops"), rows.get_mean_cost(comparison.b, "flops")),
        minutes=rows.minutes,
    )


def _judge(
    comparison: ClaimComparison,
    differences: Sequence[float],
    interval: tuple[float, float] | None,
    questions: int,
) -> tuple[Verdict, str, int | None]:
    """Return the verdict of an interval, why it is undecided, and the seeds that would decide it."""
    seeds = len(differences)
    if seeds < MIN_SEEDS and (questions or interval is None):
        return "undecided", f"{count_noun(seeds, 'seed')}; run at least {MIN_SEEDS} seeds", None
    if interval is None:
        return "undecided", "all seeds have the same difference, and no tables of questions are saved", None
    low, high = interval
    margin = comparison.margin
    # The claim: the difference is between these bounds.
    lower = {"higher": margin, "lower": -float("inf"), "equal": -margin}[comparison.direction]
    upper = {"higher": float("inf"), "lower": -margin, "equal": margin}[comparison.direction]
    if seeds >= MIN_SEEDS and lower < low and high < upper:
        return "shown", "", None
    if seeds >= MIN_SEEDS and (high < lower or low > upper):
        return "refuted", "", None
    if questions:
        return "undecided", "all seeds have the same difference; the interval over questions includes the bound", None
    distances = [abs(mean(differences) - bound) for bound in (lower, upper) if abs(bound) < float("inf")]
    if not lower < mean(differences) < upper:
        distances = [min(distances)]
    power_seeds = count_needed_seeds(*(distance / stdev(differences) for distance in distances))
    if power_seeds is None:
        return "undecided", f"more than {MAX_SEEDS:,} seeds would decide it", None
    needed = max(power_seeds, MIN_SEEDS)
    return "undecided", f"about {needed} seeds would decide it", needed


class _ComparedRows:
    """The records of a run that a comparison on a measure needs."""

    def __init__(self, comparison: ClaimComparison, measure: ClaimMeasure, run: RunRecords, system: str) -> None:
        self.comparison, self.measure, self.run, self.default_system = comparison, measure, run, system
        self.rows = (comparison.a, comparison.b)

    def get_system(self, row: ClaimRow) -> str:
        """Return the system of a row's records."""
        return row.system or self.default_system

    @cached_property
    def variants(self) -> list[tuple[ClaimRow, str, int]]:
        """Row, variant and sign in the difference."""
        signed = [(self.comparison.a, 1), (self.comparison.b, -1)]
        parts = [(row, row.variant, sign) for row, sign in signed]
        return parts + [(row, row.minus, -sign) for row, sign in signed if row.minus is not None]

    def has_score(self, row: ClaimRow, variant: str, task: str, data: str) -> bool:
        """Whether the run measured a variant on a task, for any seed."""
        keys = self.run.list_keys(self.get_system(row), variant)
        return self.measure.score_key(task, data, row.protocol) in keys

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Task and data of each score of the measure."""
        return [(task, data) for data in self.measure.data for task in self.measure.tasks]

    @cached_property
    def shared_parts(self) -> list[tuple[str, str]]:
        """Those that all rows have."""
        return [part for part in self.parts if all(self.has_score(row, name, *part) for row, name, _ in self.variants)]

    @property
    def without(self) -> tuple[str, ...]:
        """Names of those that the mean lacks."""
        missing = [part for part in self.parts if part not in self.shared_parts]
        return tuple(task if len(self.measure.data) == 1 else f"{task} on {data}" for task, data in missing)

    @cached_property
    def unmeasured(self) -> list[str]:
        """Variants without any score."""
        if self.measure.is_cost:
            lacking = [name for row, name, _ in self.variants if not self.get_scores(row, name).by_seed]
        else:
            lacking = [
                name
                for row, name, _ in self.variants
                if not any(self.has_score(row, name, *part) for part in self.parts)
            ]
        return list(dict.fromkeys(lacking))

    def list_row_keys(self, row: ClaimRow) -> list[ScoreKey]:
        """Return the keys of the row's scores on the shared parts."""
        return [self.measure.score_key(*part, row.protocol) for part in self.shared_parts]

    def count_examples(self) -> int | None:
        """Return the number of test examples of row a; None if it is unknown."""
        row = self.comparison.a
        if self.measure.is_cost:
            return None
        return self.run.count_examples(self.get_system(row), row.variant, self.list_row_keys(row))

    def get_start_scores(self, row: ClaimRow) -> SeedScores | None:
        """Return the scores of a row's untrained start; None if it has none."""
        if row.untrained is None:
            return None
        return self.get_scores(replace(row, protocol=row.untrained_protocol or row.protocol), row.untrained)

    def get_scores(self, row: ClaimRow, variant: str) -> SeedScores:
        """Return the scores of a variant, measured like a row."""
        if self.measure.is_cost:
            return self.run.get_steps_per_second(self.get_system(row), variant)
        return self.run.get_scores(self.get_system(row), variant, self.list_row_keys(row))

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds that all variants of the difference share."""
        return share_seeds([self.get_scores(row, variant) for row, variant, _ in self.variants])

    def get_mean_score(self, row: ClaimRow, variant: str, seeds: Sequence[int]) -> float:
        """Return the mean score of a variant over seeds, measured like a row."""
        scores = self.get_scores(row, variant)
        return mean(scores.get(seed) for seed in seeds)

    @cached_property
    def differences(self) -> list[float]:
        """a − b for each seed."""
        scores = [(self.get_scores(row, variant), sign) for row, variant, sign in self.variants]
        return [sum((sign * values.get(seed) for values, sign in scores), start=0.0) for seed in self.seeds]

    def estimate_interval(self) -> tuple[tuple[float, float] | None, int]:
        """Return the 95% interval of the mean difference over seeds, or over questions, and the number of questions.

        It is over questions if seeds do not vary. None: no tables of questions are saved.
        """
        if len(self.differences) > 1 and max(self.differences) - min(self.differences) > ROUNDING:
            score = estimate(self.differences)
            assert score is not None and score.interval is not None  # there are two seeds
            return (score.mean - score.interval, score.mean + score.interval), 0
        questions = self._list_question_differences()
        return (None, 0) if questions is None else (bootstrap_interval(questions), len(questions))

    def _list_question_differences(self) -> "pd.Series[float] | None":
        """Return a − b for each question with the first seed; None if a table is missing or the questions differ."""
        if len(self.shared_parts) != 1:
            return None
        total: pd.Series[float] | None = None
        (part,) = self.shared_parts
        for row, variant, sign in self.variants:
            scores = self.get_scores(row, variant)
            seed = next(iter(scores.by_seed)) if scores.has_all_seeds else self.seeds[0]
            key = self.measure.score_key(*part, row.protocol)
            values = self.run.read_questions(self.get_system(row), variant, seed, key)
            if values is None:
                return None
            total = sign * values if total is None else total + sign * values  # aligned by question
        return None if total is None or total.isna().any() else total.sort_index()

    def get_row_score(self, row: ClaimRow) -> RowScore:
        """Return the means of a row and of its untrained start over the shared seeds."""
        score = self.get_mean_score(row, row.variant, self.seeds)
        if row.minus is not None:
            score -= self.get_mean_score(row, row.minus, self.seeds)
        start_scores = self.get_start_scores(row)
        if start_scores is None or not (shared := share_seeds([start_scores], self.seeds)):
            return RowScore(score)
        start = mean(start_scores.get(seed) for seed in shared)
        is_below_start = self.get_mean_score(row, row.variant, shared) < start
        return RowScore(score, start if row.minus is None else None, is_below_start)

    def find_objection(self) -> str:
        """Return why these records cannot decide the claim, whatever the interval is; "" if they can."""
        if any(DATA["demo"] in text for text in self.texts):
            return "trained on the demo's made-up world, which is no evidence"
        if len(self.texts) > 1:
            return f"trained on different texts: {join_names(self.texts)}"
        return self._find_cost_objection() or self._find_start_objection()

    def _find_cost_objection(self) -> str:
        """Return why the costs forbid a decision; "" if they do not: scores may favour the row with the lower cost.

        Scores that the claim calls equal favour both rows.
        """
        if (cost := self.comparison.equal_cost) is None:
            return ""
        a, b = (self.get_mean_cost(row, cost) for row in self.rows)
        sign = -1 if self.comparison.direction == "lower" else 1
        favours_claim = sign * mean(self.differences) > self.comparison.margin
        favoured, other = (a, b) if favours_claim == (sign == 1) else (b, a)
        if self.comparison.direction == "equal":
            favoured, other = max(a, b), min(a, b)
        return f"{cost} of training differ: {a:,.0f} and {b:,.0f}" if favoured > MAX_COST_RATIO * other else ""

    def _find_start_objection(self) -> str:
        """Return why the untrained starts forbid a decision; "" if they do not."""
        if self.measure.is_cost:
            return ""
        scores = [(row.untrained, self.get_row_score(row)) for row in self.rows if row.untrained is not None]
        if missing := [name for name, score in scores if score.is_below_start is None]:
            return f"no records of the untrained start {join_names(dict.fromkeys(missing))}"
        if not scores or not all(score.is_below_start for _, score in scores):
            return ""
        rows = "both rows are" if len(scores) == 2 else "the row with an untrained start is"
        return f"{rows} below the untrained start; train longer"

    def list_costs(self, row: ClaimRow, variant: str) -> list[dict[str, Any]]:
        """Return the costs of a variant's trainings with the shared seeds."""
        costs = self.run.get_costs(self.get_system(row), variant)
        return [costs[seed] for seed in self.seeds if seed in costs]

    def get_mean_cost(self, row: ClaimRow, key: str) -> float:
        """Return the mean cost of a training of the row's variant; 0 if it was not trained."""
        values = [costs[key] for costs in self.list_costs(row, row.variant)]
        return float(mean(values)) if values else 0.0

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Names of the texts that the variants were trained on."""
        all_costs = [costs for row, variant, _ in self.variants for costs in self.list_costs(row, variant)]
        return tuple(dict.fromkeys(costs["training_text"] for costs in all_costs))

    @property
    def minutes(self) -> float:
        """Duration of the trainings of all variants and seeds, each variant once."""
        seconds = {
            (self.get_system(row), variant): sum(float(costs["seconds"]) for costs in self.list_costs(row, variant))
            for row, variant, _ in self.variants
        }
        return sum(seconds.values()) / 60
