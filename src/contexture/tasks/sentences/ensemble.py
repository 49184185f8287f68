"""Several models as one: the average of their log-probabilities (Quick-Thoughts, section 4.4.2).

A model weighs as much as its validation score; the scores are divided by their sum.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from contexture.tasks.sentences.probe import LogProbabilities, ProbeResult, measure
from contexture.tasks.sentences.relatedness import RelatednessResult, measure_degrees


def ensemble(results: Sequence[ProbeResult]) -> ProbeResult:
    """The ensemble of one task's probes; its validation score is the mean of theirs, weighted likewise.

    Raises:
        ValueError: if there is none, they are not of the same test rows, or no validation score is above 0.
    """
    weights = _weights(results)
    first = results[0]
    if any(not np.array_equal(first.folds, other.folds) for other in results):
        raise ValueError(f"{first.task}: an ensemble's models must be tested on the same folds")
    found = _averaged(results, weights)
    return replace(
        first,
        metrics=measure(first.labels, first.folds, found, "f1" in first.metrics),
        chosen=(),
        validation=_validation(results, weights),
        log_probabilities=found,
    )


def relatedness_ensemble(results: Sequence[RelatednessResult]) -> RelatednessResult:
    """The ensemble of one task's regressions. Raises ValueError as `ensemble` does."""
    weights = _weights(results)
    first = results[0]
    found = _averaged(results, weights)
    return replace(
        first,
        metrics=measure_degrees(found, first.levels, first.scores),
        chosen=(),
        validation=_validation(results, weights),
        log_probabilities=found,
    )


Results = Sequence[ProbeResult | RelatednessResult]


def _weights(results: Results) -> list[float]:
    if not results:
        raise ValueError("an ensemble needs a model")
    first = results[0]
    for other in results:
        same = (other.task, other.protocol) == (first.task, first.protocol)
        if not same or not np.array_equal(other.rows, first.rows):
            raise ValueError(
                f"an ensemble of {first.task} ({first.protocol}, {len(first.rows)} rows) and {other.task} "
                f"({other.protocol}, {len(other.rows)} rows): its models must be tested on the same rows"
            )
    # A model that is worse than chance has no say.
    scores = [max(result.validation, 0.0) for result in results]
    if not sum(scores):
        raise ValueError(f"{first.task}: no model of the ensemble has a validation score above 0")
    return [score / sum(scores) for score in scores]


def _averaged(results: Results, weights: Sequence[float]) -> LogProbabilities:
    total = sum(weight * result.log_probabilities for weight, result in zip(weights, results, strict=True))
    return np.asarray(total, np.float32)


def _validation(results: Results, weights: Sequence[float]) -> float:
    return float(sum(weight * result.validation for weight, result in zip(weights, results, strict=True)))
