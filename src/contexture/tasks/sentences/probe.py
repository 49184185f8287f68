"""Probes: a linear classifier on the frozen vectors of sentences (Quick-Thoughts, section 4.2; SentEval).

All folds and strengths of a task are solved together (`logistic.fit`), strength after strength, each from where the
weaker ones lead. The loss is that of scikit-learn's `LogisticRegression` of today, whose solver stops where the
gradient is small or after 100 steps; here the minimum itself is found. Scripts of the papers' time used liblinear,
which takes several classes one by one and penalises the intercept.
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
    """Predictions of classifiers for rows that they were not trained on."""

    task: str
    chosen: tuple[float, ...]
    """C, one for each outer fold, or one for the test part."""
    validation: float
    """The score by which C was chosen, at that C, the mean over the outer folds."""
    folds: Labels
    """[N] the outer fold of each row."""
    labels: Labels
    """[N] its class."""
    log_probabilities: LogProbabilities
    """[N, classes] of each."""
    has_f1: bool
    """Whether the classes are two, of pairs."""

    @cached_property
    def metrics(self) -> dict[str, float]:
        """accuracy, the mean over folds as both protocols print it, and, if `has_f1`, f1 of class 1: fractions."""
        predicted = self.log_probabilities.argmax(1)
        folds = [self.folds == fold for fold in np.unique(self.folds)]
        metrics = {"accuracy": float(np.mean([accuracy(self.labels[rows], predicted[rows]) for rows in folds]))}
        return metrics | ({"f1": f1(self.labels, predicted)} if self.has_f1 else {})


def run_probe(task: ClassificationTask, vectors: Lookup, protocol: Protocol) -> ProbeResult:
    """Classify sentences, or pairs of them by [|u−v|, u∗v], and measure it as the protocol says.

    ValueError, naming the task, if a vector is not finite, or the rows cannot be split or lack a class.
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
    """Add the task's name to a ValueError of the block."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{task}: {error}") from error


def task_features(table: pd.DataFrame, vectors: Lookup) -> Tensor:
    """The features [N, D], or of pairs [N, 2D], of a table's rows, on the GPU if there is one."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    columns = [table[column].tolist() for column in ("text", "text2") if column in table]
    sides = [torch.from_numpy(finite_vectors(vectors, texts)).to(device) for texts in columns]
    return pair_features(sides[0], sides[1]) if len(sides) == 2 else sides[0]


def accuracy(labels: Labels, predicted: Labels) -> float:
    """The share of labels that are predicted."""
    return float((labels == predicted).mean())


def f1(labels: Labels, predicted: Labels) -> float:
    """F1 of class 1; 0 if it neither occurs nor is predicted."""
    named = int((labels == 1).sum() + (predicted == 1).sum())
    return 2 * int(((labels == 1) & (predicted == 1)).sum()) / named if named else 0.0


Score = Callable[[Labels, Labels], float]


class _Trainer:
    """The classifiers of one task."""

    def __init__(self, features: Tensor, labels: Labels, classes: int, parts: Sequence[OuterFold]) -> None:
        self.labels, self.parts = labels, parts
        # Rows that no classifier is trained on stay out of the design.
        trained = np.zeros(len(labels), bool)
        for part in parts:
            trained[part.train] = True
        self.trained_row = np.cumsum(trained) - 1
        inside = torch.from_numpy(trained).to(features.device)
        self.design = Design.of(features[inside])
        self.coordinates = features.new_empty(len(features), self.design.coordinates.shape[1])
        self.coordinates[inside] = self.design.coordinates
        self.coordinates[~inside] = self.design.place(features[~inside])
        self.targets = torch.nn.functional.one_hot(torch.from_numpy(labels[trained]), classes).to(features)

    def validate(self, strengths: Sequence[float], score: Score) -> Scores:
        """The mean score [rounds, strengths] on the rows that inner folds hold out."""
        inner = [fold for part in self.parts for fold in part.inner]
        weights = self._weights([train for train, _ in inner])
        scores = np.empty((len(inner), len(strengths)))
        path = fit_path(self.design, self.targets, weights, strengths)
        for column, parameters in enumerate(path):
            predicted = log_probabilities(self.coordinates, parameters).argmax(2).cpu().numpy()
            for row, (_, held) in enumerate(inner):
                scores[row, column] = score(self.labels[held], predicted[row, held])
        means: Scores = scores.reshape(len(self.parts), -1, len(strengths)).mean(1)
        return means

    def test(self, chosen: Sequence[float]) -> LogProbabilities:
        """Log-probabilities of every round's test rows, by the classifier of its whole training part."""
        weights = self._weights([part.train for part in self.parts])
        parameters = fit(self.design, self.targets, weights, torch.tensor(chosen, device=weights.device))
        log_probs = log_probabilities(self.coordinates, parameters).float().cpu().numpy()
        return np.concatenate([log_probs[row, part.test] for row, part in enumerate(self.parts)])

    def _weights(self, parts: Sequence[Rows]) -> Tensor:
        """[K, trained rows]: true where a row is in a part."""
        weights = np.zeros((len(parts), len(self.targets)), bool)
        for row, part in enumerate(parts):
            if len(np.unique(self.labels[part])) < 2:
                raise ValueError(f"a training part of {len(part)} rows has but one class: the task needs more rows")
            weights[row, self.trained_row[part]] = True
        return torch.from_numpy(weights).to(self.targets.device)
