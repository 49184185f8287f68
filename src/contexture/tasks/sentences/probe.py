"""Probes: a linear classifier on the frozen vectors of sentences (Quick-Thoughts, section 4.2; SentEval).

All folds and strengths of a task are solved together (`logistic.fit`), strength after strength, each from where the
weaker ones lead. The loss is that of scikit-learn's `LogisticRegression` of today, whose solver stops where the
gradient is small or after 100 steps; here the minimum itself is found. Scripts of the papers' time used liblinear,
which takes several classes one by one and penalises the intercept.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from contexture.metrics.logistic import Design, fit, fit_path, log_probabilities
from contexture.tasks.sentences.probe_protocols import Protocol, Round, Rows, pair_features, rounds
from contexture.tasks.sentences.tables import ClassificationTask
from contexture.tasks.sentences.vectors import Lookup

Labels = NDArray[np.int64]
LogProbabilities = NDArray[np.float32]
Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """How a classifier that never saw the test rows does on them."""

    task: str
    protocol: str
    metrics: dict[str, float]
    """accuracy, the mean over the outer folds, and for pairs of two classes f1 of the second: fractions."""
    chosen: tuple[float, ...]
    """C, one for each outer fold, or one for the test part."""
    validation: float
    """The score by which C was chosen, at that C, the mean over the outer folds."""
    rows: Labels
    """[N] rows of the task's table that were tested, each once."""
    folds: Labels
    """[N] the outer fold of each."""
    labels: Labels
    """[N] its class."""
    log_probabilities: LogProbabilities
    """[N, classes] of each."""


def probe(task: ClassificationTask, vectors: Lookup, protocol: Protocol) -> ProbeResult:
    """Classify sentences, or pairs of them by [|u−v|, u∗v], and measure it as the protocol says.

    The GPU is used where there is one.

    Raises:
        ValueError: if a vector is not finite, or the rows cannot be split or lack a class, naming the task.
    """
    with naming(task.name):
        parts = rounds(task.table, protocol)
        by_folds = len(parts) == 1 and len(parts[0].inner) > 1
        score = f1 if by_folds and protocol.pairs_by == "f1" and _is_paraphrase(task) else accuracy
        strengths = protocol.folds if by_folds else protocol.nested
        labels = task.table["label"].to_numpy(np.int64)
        trainer = _Trainer(task_features(task.table, vectors), labels, len(task.classes), parts)
        scores = trainer.validate(strengths, score)
    compared = np.round(100 * scores, 2) if protocol.rounded else scores
    best = compared.argmax(1)
    chosen = tuple(strengths[place] for place in best)
    rows = np.concatenate([part.test for part in parts])
    folds = np.repeat(np.arange(len(parts)), [len(part.test) for part in parts])
    found = trainer.test(chosen)
    return ProbeResult(
        task=task.name,
        protocol=protocol.name,
        metrics=measure(labels[rows], folds, found, _is_paraphrase(task)),
        chosen=chosen,
        validation=float(scores[np.arange(len(parts)), best].mean()),
        rows=rows,
        folds=folds,
        labels=labels[rows],
        log_probabilities=found,
    )


@contextmanager
def naming(task: str) -> Iterator[None]:
    """Put the task's name before what is wrong with it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{task}: {error}") from error


def task_features(table: pd.DataFrame, vectors: Lookup) -> Tensor:
    """The features [N, D], or of pairs [N, 2D], of a table's rows, on the GPU where there is one.

    Raises:
        ValueError: if the vectors are not as many as the sentences, or not finite; it names the sentence.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    columns = [column for column in ("text", "text2") if column in table]
    found = [torch.from_numpy(_checked(table[column].tolist(), vectors)).to(device) for column in columns]
    return pair_features(found[0], found[1]) if len(found) == 2 else found[0]


def _checked(texts: Sequence[str], vectors: Lookup) -> NDArray[np.float32]:
    found = np.ascontiguousarray(vectors(texts))
    if found.ndim != 2 or len(found) != len(texts):
        raise ValueError(f"{len(texts)} sentences have vectors of shape {found.shape}: expected one row a sentence")
    finite = np.isfinite(found).all(1)
    if not finite.all():
        raise ValueError(f"the vector of {texts[int(finite.argmin())]!r} is not finite: did the training diverge?")
    return found


def _is_paraphrase(task: ClassificationTask) -> bool:
    return task.pairs and len(task.classes) == 2


def measure(labels: Labels, folds: Labels, log_probs: LogProbabilities, with_f1: bool) -> dict[str, float]:
    """accuracy, the mean over folds as both protocols print it, and if asked for f1: fractions."""
    predicted = log_probs.argmax(1)
    means = [accuracy(labels[folds == fold], predicted[folds == fold]) for fold in np.unique(folds)]
    metrics = {"accuracy": float(np.mean(means))}
    if with_f1:
        metrics["f1"] = f1(labels, predicted)
    return metrics


def accuracy(labels: Labels, predicted: Labels) -> float:
    """The share of labels that are predicted."""
    return float((labels == predicted).mean())


def f1(labels: Labels, predicted: Labels) -> float:
    """F1 of class 1; 0 where it neither occurs nor is predicted."""
    named = int((labels == 1).sum() + (predicted == 1).sum())
    return 2 * int(((labels == 1) & (predicted == 1)).sum()) / named if named else 0.0


Score = Callable[[Labels, Labels], float]


class _Trainer:
    """The classifiers of one task."""

    def __init__(self, features: Tensor, labels: Labels, classes: int, parts: Sequence[Round]) -> None:
        self.labels, self.parts = labels, parts
        # Rows that no classifier is trained on stay out of the design.
        trained = np.zeros(len(labels), bool)
        for part in parts:
            trained[part.train] = True
        self.place = np.cumsum(trained) - 1
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
        found = log_probabilities(self.coordinates, parameters).float().cpu().numpy()
        return np.concatenate([found[row, part.test] for row, part in enumerate(self.parts)])

    def _weights(self, parts: Sequence[Rows]) -> Tensor:
        """[K, trained rows]: true where a row is in a part."""
        weights = np.zeros((len(parts), len(self.targets)), bool)
        for row, part in enumerate(parts):
            if len(np.unique(self.labels[part])) < 2:
                raise ValueError(f"a training part of {len(part)} rows has but one class: the task needs more rows")
            weights[row, self.place[part]] = True
        return torch.from_numpy(weights).to(self.targets.device)
