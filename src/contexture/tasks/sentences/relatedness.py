"""Degrees of relatedness of pairs, predicted by a softmax over the whole degrees (SICK-R, STS-B; Tai et al. 2015).

A score of 3.7 is the distribution with 0.7 on 4 and 0.3 on 3; a multinomial logistic regression learns the
distributions from [|u−v|, u∗v], and predicts the expected degree. Both protocols train this model, but by Adam on
parts of the rows, until the Pearson correlation on the development part falls (SentEval with a squared error, and
with 1 to 5 for degrees even where STS-B has 0). Here its minimum is found for each strength C of the protocol, and the
development part's Pearson correlation chooses among them: the figures are near to theirs, not the same.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from contexture.metrics.logistic import Design, fit_path, log_probabilities
from contexture.tasks.sentences.probe import LogProbabilities, name_task_in_errors, task_features
from contexture.tasks.sentences.probe_protocols import Protocol, Rows
from contexture.tasks.sentences.tables import RelatednessTask
from contexture.tasks.sentences.vectors import Lookup

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RelatednessResult:
    """Predicted degrees of relatedness beside those that people gave."""

    task: str
    chosen: tuple[float, ...]
    """C, alone."""
    validation: float
    """The Pearson correlation on the development part."""
    scores: Numbers
    """[N] given to the test rows."""
    levels: Numbers
    """[L] the whole degrees."""
    log_probabilities: LogProbabilities
    """[N, L] of the degrees."""

    @cached_property
    def metrics(self) -> dict[str, float]:
        """pearson and spearman, −1 to 1 (0 if all predictions are alike), and mse, in the task's units squared."""
        predicted = expected_scores(self.log_probabilities, self.levels)
        return {
            "pearson": correlation(pearsonr, predicted, self.scores),
            "spearman": correlation(spearmanr, predicted, self.scores),
            "mse": float(np.mean((predicted - self.scores) ** 2)),
        }


def measure_relatedness(task: RelatednessTask, vectors: Lookup, protocol: Protocol) -> RelatednessResult:
    """Learn the degrees from the training part, choose C by the development part, measure the test part.

    Raises:
        ValueError: if a vector is not finite, a part is missing or has one score only, or a score is out of range,
            naming the task.
    """
    with name_task_in_errors(task.name):
        scores = task.table["score"].to_numpy(np.float64)
        train, dev, test = (_find_part(task, name) for name in ("train", "dev", "test"))
        levels = np.arange(task.low, task.high + 1)
        targets = torch.from_numpy(score_distributions(scores, levels))
        features = task_features(task.table, vectors)
        design = Design.of(features[torch.from_numpy(train)])
        weights = torch.ones(1, len(train), device=features.device)
        inputs = [design.place(features[torch.from_numpy(rows)]) for rows in (dev, test)]
        path = fit_path(design, targets[train].to(features), weights, protocol.nested)
        best, best_strength, best_test = -np.inf, 0.0, np.empty((0, 0), np.float32)
        for strength, parameters in zip(protocol.nested, path, strict=True):
            dev_log_probs, test_log_probs = (
                log_probabilities(rows, parameters)[0].float().cpu().numpy() for rows in inputs
            )
            pearson = correlation(pearsonr, expected_scores(dev_log_probs, levels), scores[dev])
            if pearson > best:
                best, best_strength, best_test = pearson, strength, test_log_probs
    return RelatednessResult(task.name, (best_strength,), best, scores[test], levels, best_test)


def score_distributions(scores: Numbers, levels: Numbers) -> Numbers:
    """The targets [N, L]: a score's mass on the whole degrees below and above it, so that it is their mean.

    ValueError if a score is outside the degrees.
    """
    outside = ~((scores >= levels[0]) & (scores <= levels[-1]))
    if outside.any():
        raise ValueError(f"the score {scores[outside][0]:g} is not between {levels[0]:g} and {levels[-1]:g}")
    masses: Numbers = np.maximum(0, 1 - np.abs(scores[:, None] - levels))
    return masses


def expected_scores(log_probs: LogProbabilities, levels: Numbers) -> Numbers:
    """The mean degree [N] of distributions [N, L], which are normalised first."""
    masses = np.exp(log_probs.astype(np.float64) - log_probs.max(1, keepdims=True))
    means: Numbers = masses @ levels / masses.sum(1)
    return means


def correlation(measure: Any, predicted: Numbers, scores: Numbers) -> float:
    """A correlation of scipy; 0 if all predictions are alike, as SentEval counts it."""
    return float(measure(predicted, scores).statistic) if np.ptp(predicted) > 0 else 0.0


def _find_part(task: RelatednessTask, name: str) -> Rows:
    rows = np.flatnonzero(task.table["split"] == name)
    if task.table["score"].iloc[rows].nunique() < 2:
        raise ValueError(f"the part {name} has {len(rows)} rows, fewer than two different scores")
    return rows
