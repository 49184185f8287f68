"""Probes: linear classifiers on frozen sentence vectors (Quick-Thoughts, section 4.4; SentEval).

All folds of a task are solved together (`logistic.fit`), from the smallest to the largest strength C, each starting
from the previous solution. The loss is that of scikit-learn's current `LogisticRegression`, minimised to convergence.
Older scripts used liblinear, which trains one-vs-rest classifiers and penalises the intercept.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from contexture.metrics.logistic import Design, fit, fit_path, log_probabilities
from contexture.tasks.sentences.probe_protocols import OuterFold, Protocol, Rows, pair_features, split_outer_folds
from contexture.tasks.sentences.tables import ClassificationTask
from contexture.tasks.sentences.vectors import Lookup, finite_vectors

Labels = NDArray[np.int64]
LogProbabilities = NDArray[np.float32]
Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """Predictions for rows that the classifiers were not trained on."""

    task: str
    chosen: tuple[float, ...]
    """C of each outer fold, or of the test part."""
    validation: float
    """Validation score of the chosen C, mean over outer folds."""
    folds: Labels
    """[N] outer fold of each row."""
    labels: Labels
    """[N] class of each row."""
    log_probabilities: LogProbabilities
    """[N, classes]."""
    has_f1: bool
    """Whether the task has pairs of two classes."""

    @property
    def examples(self) -> int:
        """Number of test rows."""
        return len(self.labels)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Accuracy on the test rows (mean over folds) and, if `has_f1`, F1 of class 1, as fractions."""
        predicted = self.log_probabilities.argmax(1)
        folds = [self.folds == fold for fold in np.unique(self.folds)]
        metrics = {"accuracy": float(np.mean([accuracy(self.labels[rows], predicted[rows]) for rows in folds]))}
        return metrics | ({"f1": f1(self.labels, predicted)} if self.has_f1 else {})


def run_probe(task: ClassificationTask, vectors: Lookup, protocol: Protocol) -> ProbeResult:
    """Train and test classifiers of sentences, or of pairs by [|u−v|, u∗v], by a protocol; return their predictions.

    Raises ValueError, with the task, for vectors that are not finite, and rows that cannot be split or lack a class.
    """
    has_f1 = task.pairs and len(task.classes) == 2
    with name_task_in_errors(task.name):
        parts = split_outer_folds(task.table, protocol)
        by_folds = len(parts) == 1 and len(parts[0].inner) > 1
        score = f1 if by_folds and protocol.pairs_by == "f1" and has_f1 else accuracy
        strengths = protocol.folds if by_folds else protocol.nested
        labels = task.table["label"].to_numpy(np.int64)
        trainer = _Trainer(task_features(task.table, vectors), labels, len(task.classes), parts)
        scores = trainer.validate(strengths, score)
    compared = np.round(100 * scores, 2) if protocol.rounded else scores
    best = compared.argmax(1)
    chosen = tuple(strengths[column] for column in best)
    return ProbeResult(
        task=task.name,
        chosen=chosen,
        validation=float(scores[np.arange(len(parts)), best].mean()),
        folds=np.repeat(np.arange(len(parts)), [len(part.test) for part in parts]),
        labels=labels[np.concatenate([part.test for part in parts])],
        log_probabilities=trainer.test(chosen),
        has_f1=has_f1,
    )


@contextmanager
def name_task_in_errors(task: str) -> Iterator[None]:
    """Prefix ValueErrors of the block with the task's name."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{task}: {error}") from error


def task_features(table: pd.DataFrame, vectors: Lookup) -> Tensor:
    """Return the features [N, D], or [N, 2D] of pairs, of a table's rows, on the GPU if available."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    columns = [table[column].tolist() for column in ("text", "text2") if column in table]
    sides = [torch.from_numpy(finite_vectors(vectors, texts)).to(device) for texts in columns]
    return pair_features(sides[0], sides[1]) if len(sides) == 2 else sides[0]


def accuracy(labels: Labels, predicted: Labels) -> float:
    """Return the share of correct predictions."""
    return float((labels == predicted).mean())


def f1(labels: Labels, predicted: Labels) -> float:
    """Return F1 of class 1; 0 if it neither occurs nor is predicted."""
    named = int((labels == 1).sum() + (predicted == 1).sum())
    return 2 * int(((labels == 1) & (predicted == 1)).sum()) / named if named else 0.0


Score = Callable[[Labels, Labels], float]


class _Trainer:
    """The classifiers of one task."""

    def __init__(self, features: Tensor, labels: Labels, classes: int, parts: Sequence[OuterFold]) -> None:
        self.labels, self.parts = labels, parts
        # The design has only rows that a classifier is trained on.
        trained = np.zeros(len(labels), bool)
        for part in parts:
            trained[part.train] = True
        self.trained_row = np.cumsum(trained) - 1
        inside = torch.from_numpy(trained).to(features.device)
        self.design = Design.from_features(features[inside])
        self.coordinates = features.new_empty(len(features), self.design.coordinates.shape[1])
        self.coordinates[inside] = self.design.coordinates
        self.coordinates[~inside] = self.design.project(features[~inside])
        self.targets = torch.nn.functional.one_hot(torch.from_numpy(labels[trained]), classes).to(features)

    def validate(self, strengths: Sequence[float], score: Score) -> Scores:
        """Return the mean score [outer folds, strengths] of classifiers on the held-out rows of inner folds."""
        inner = [fold for part in self.parts for fold in part.inner]
        weights = self._row_masks([train for train, _ in inner])
        scores = np.empty((len(inner), len(strengths)))
        path = fit_path(self.design, self.targets, weights, strengths)
        for column, parameters in enumerate(path):
            predicted = log_probabilities(self.coordinates, parameters).argmax(2).cpu().numpy()
            for row, (_, held) in enumerate(inner):
                scores[row, column] = score(self.labels[held], predicted[row, held])
        means: Scores = scores.reshape(len(self.parts), -1, len(strengths)).mean(1)
        return means

    def test(self, chosen: Sequence[float]) -> LogProbabilities:
        """Return log-probabilities of the classes of all test rows, by classifiers of the whole training parts."""
        weights = self._row_masks([part.train for part in self.parts])
        parameters = fit(self.design, self.targets, weights, torch.tensor(chosen, device=weights.device))
        log_probs = log_probabilities(self.coordinates, parameters).float().cpu().numpy()
        return np.concatenate([log_probs[row, part.test] for row, part in enumerate(self.parts)])

    def _row_masks(self, parts: Sequence[Rows]) -> Tensor:
        """Return a mask [K, training rows] of the rows of each part; ValueError for a part with one class."""
        weights = np.zeros((len(parts), len(self.targets)), bool)
        for row, part in enumerate(parts):
            if len(np.unique(self.labels[part])) < 2:
                raise ValueError(f"a training part of {len(part)} rows has only one class; add rows")
            weights[row, self.trained_row[part]] = True
        return torch.from_numpy(weights).to(self.targets.device)
