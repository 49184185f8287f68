"""Relatedness of sentence pairs, predicted by a softmax over whole degrees (SICK-R, STS-B; Tai et al., 2015).

A score of 3.7 is the distribution with 0.7 on 4 and 0.3 on 3. A multinomial logistic regression learns the
distributions from [|u−v|, u∗v] and predicts the expected degree. The published scripts train this model with Adam and
stop early by Pearson correlation on dev (SentEval with squared error, and with degrees 1 to 5 although STS-B has 0).
Here the loss is minimised for each strength C of the protocol, and Pearson correlation on dev selects C; results are
close, not equal.
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
    """Predicted and human degrees of relatedness."""

    task: str
    chosen: tuple[float, ...]
    """The chosen C."""
    validation: float
    """Pearson correlation on the development part."""
    scores: Numbers
    """[N] human scores of the test rows."""
    levels: Numbers
    """[L] whole degrees."""
    log_probabilities: LogProbabilities
    """[N, L] of the degrees, for the test rows."""

    @property
    def examples(self) -> int:
        """Number of test rows."""
        return len(self.scores)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Correlations pearson and spearman (0 for constant predictions), and mse, of predicted and human scores."""
        predicted = expected_scores(self.log_probabilities, self.levels)
        return {
            "pearson": correlation(pearsonr, predicted, self.scores),
            "spearman": correlation(spearmanr, predicted, self.scores),
            "mse": float(np.mean((predicted - self.scores) ** 2)),
        }


def measure_relatedness(task: RelatednessTask, vectors: Lookup, protocol: Protocol) -> RelatednessResult:
    """Train a regression on the training part, select C on the development part, and predict the test part.

    Raises:
        ValueError: with the task, for vectors that are not finite, missing or constant parts, and scores out of range.
    """
    with name_task_in_errors(task.name):
        scores = task.table["score"].to_numpy(np.float64)
        train, dev, test = (_find_part(task, name) for name in ("train", "dev", "test"))
        levels = np.arange(task.low, task.high + 1)
        targets = torch.from_numpy(score_distributions(scores, levels))
        features = task_features(task.table, vectors)
        design = Design.from_features(features[torch.from_numpy(train)])
        weights = torch.ones(1, len(train), device=features.device)
        inputs = [design.project(features[torch.from_numpy(rows)]) for rows in (dev, test)]
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
    """Return distributions over degrees [N, L]: mass on the degrees below and above each score, with it as mean.

    Raises ValueError for a score outside the degrees.
    """
    outside = ~((scores >= levels[0]) & (scores <= levels[-1]))
    if outside.any():
        raise ValueError(f"the score {scores[outside][0]:g} is not between {levels[0]:g} and {levels[-1]:g}")
    masses: Numbers = np.maximum(0, 1 - np.abs(scores[:, None] - levels))
    return masses


def expected_scores(log_probs: LogProbabilities, levels: Numbers) -> Numbers:
    """Return the mean degree [N] of distributions [N, L], after normalisation."""
    masses = np.exp(log_probs.astype(np.float64) - log_probs.max(1, keepdims=True))
    means: Numbers = masses @ levels / masses.sum(1)
    return means


def correlation(measure: Any, predicted: Numbers, scores: Numbers) -> float:
    """Return the correlation of predicted and human scores by a SciPy function; 0 for constant predictions."""
    return float(measure(predicted, scores).statistic) if np.ptp(predicted) > 0 else 0.0


def _find_part(task: RelatednessTask, name: str) -> Rows:
    """Return the rows of a part of the table; raises ValueError without two different scores."""
    rows = np.flatnonzero(task.table["split"] == name)
    if task.table["score"].iloc[rows].nunique() < 2:
        raise ValueError(f"the part {name} has {len(rows)} rows with fewer than two different scores; add rows")
    return rows
