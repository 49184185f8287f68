"""Several models as one: the average of their log-probabilities (Quick-Thoughts, section 4.4.2).

A model weighs as much as its validation score; the scores are divided by their sum.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from contexture.tasks.sentences.probe import ProbeResult
from contexture.tasks.sentences.relatedness import RelatednessResult

_Result = TypeVar("_Result", ProbeResult, RelatednessResult)


def ensemble(results: Sequence[_Result]) -> _Result:
    """The ensemble of the results of several models for the same task.

    Its validation score is the mean of theirs, weighted likewise.

    Raises:
        ValueError: if no validation score is above 0.
    """
    # A model that is worse than chance has no say.
    scores = [max(result.validation, 0.0) for result in results]
    if not sum(scores):
        raise ValueError(f"{results[0].task}: no model of the ensemble has a validation score above 0")
    weights = [score / sum(scores) for score in scores]

    def average(values: Iterable[Any]) -> Any:
        return sum(weight * value for weight, value in zip(weights, values, strict=True))

    return replace(
        results[0],
        chosen=(),
        validation=float(average(result.validation for result in results)),
        log_probabilities=np.asarray(average(result.log_probabilities for result in results), np.float32),
    )
