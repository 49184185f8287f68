"""Speed and agreement of the probe compared with scikit-learn, on SentEval's tasks.

    python benchmarks/probe.py --data FOLDER [--dimension 2400] [--tasks cr mr] [--sklearn-folds 1]

FOLDER is what SentEval calls data/downstream; tasks that are not there are left out. Needs the extra `workbench`.

The encoder is a stand-in of as many dimensions as a trained one: sums of random vectors of words, each half of unit
length, as Quick-Thoughts' test vectors are. Both sides get the same vectors, embedded beforehand, the same folds, and
SentEval's choice of C; ours is `tasks.sentences.probe.probe`, the peer `LogisticRegression(C, random_state=1111)` with
scikit-learn's defaults, one fit after another, as SentEval's scripts have it.

For tasks without a split these are 610 fits. scikit-learn makes those of the first --sklearn-folds outer folds of ten
(10 for all), its time is scaled up to ten, and the accuracies of both sides are of these folds. A row of the table says
how many were run. `capped` are the fits that scikit-learn ended after its 100 steps.

A fold of some hundred rows is little to compare by, as either side may choose another C by a hair. `same C` is
therefore scikit-learn's accuracy minus ours, as `points` is, but over all outer folds, at the C that ours chose (not
timed).
"""

import argparse
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.probe import ProbeResult, accuracy, run_probe, task_features
from contexture.tasks.sentences.probe_protocols import NUM_FOLDS, SENTEVAL, OuterFold, split_outer_folds
from contexture.tasks.sentences.senteval import CLASSIFICATION, read_classification
from contexture.tasks.sentences.tables import ClassificationTask

Vectors = NDArray[np.float32]


class WordSums:
    """Texts → sums of their words' random vectors; each text is embedded once."""

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.words: dict[str, Vectors] = {}
        self.texts: dict[str, Vectors] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self.texts[text] if text in self.texts else self.embed(text) for text in texts])

    def embed(self, text: str) -> Vectors:
        total = np.sum([self.word(word) for word in text.lower().split()], 0)
        halves = total.reshape(2, -1)
        self.texts[text] = (halves / np.linalg.norm(halves, axis=1, keepdims=True)).reshape(-1)
        return self.texts[text]

    def word(self, word: str) -> Vectors:
        if word not in self.words:
            rng = np.random.default_rng(zlib.crc32(word.encode()))
            self.words[word] = rng.standard_normal(self.dimension, np.float32)
        return self.words[word]


@dataclass
class Peer:
    """What scikit-learn found."""

    chosen: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    fits: int = 0
    capped: int = 0

    def fit(self, x: Vectors, y: NDArray[np.int64], strength: float) -> LogisticRegression:
        model = LogisticRegression(C=strength, random_state=SENTEVAL.seed).fit(x, y)
        self.fits += 1
        self.capped += int(max(model.n_iter_) >= model.max_iter)
        return model

    def round(self, x: Vectors, y: NDArray[np.int64], part: OuterFold, strengths: Sequence[float]) -> None:
        """Choose C and test, as SentEval's scripts do."""
        start = time.perf_counter()
        scores = []
        for strength in tqdm(strengths, desc="scikit-learn", unit="C", leave=False, disable=None):
            held = [self.fit(x[fit], y[fit], strength).score(x[rest], y[rest]) for fit, rest in part.inner]
            scores.append(round(100 * float(np.mean(held)), 2))
        self.chosen.append(strengths[int(np.argmax(scores))])
        model = self.fit(x[part.train], y[part.train], self.chosen[-1])
        self.accuracies.append(float(model.score(x[part.test], y[part.test])))
        self.seconds += time.perf_counter() - start


def run_peer(task: ClassificationTask, vectors: WordSums, outer: int) -> Peer:
    """The first `outer` rounds of a task, or its only one; the time is that of all rounds."""
    parts = split_outer_folds(task.table, SENTEVAL)
    x, y = task_features(task.table, vectors).cpu().numpy(), task.table["label"].to_numpy()
    strengths = SENTEVAL.folds if len(parts) == 1 and len(parts[0].inner) > 1 else SENTEVAL.nested
    peer = Peer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for part in parts[:outer]:
            peer.round(x, y, part, strengths)
    peer.seconds *= len(parts) / len(peer.chosen)
    return peer


def at_our_strengths(task: ClassificationTask, vectors: WordSums, result: ProbeResult) -> float:
    """scikit-learn's accuracy over all rounds where it need not choose C."""
    x, y = task_features(task.table, vectors).cpu().numpy(), task.table["label"].to_numpy()
    peer = Peer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = [
            peer.fit(x[part.train], y[part.train], strength).score(x[part.test], y[part.test])
            for part, strength in zip(split_outer_folds(task.table, SENTEVAL), result.chosen, strict=True)
        ]
    return float(np.mean(scores))


def accuracy_of(result: ProbeResult, outer: int) -> float:
    """The mean over the first folds."""
    predicted = result.log_probabilities.argmax(1)
    folds = [result.folds == fold for fold in range(min(outer, result.folds.max() + 1))]
    return float(np.mean([accuracy(result.labels[rows], predicted[rows]) for rows in folds]))


def spread(chosen: Sequence[float]) -> str:
    """The C of all outer folds."""
    return " ".join(f"{c:g}×{list(chosen).count(c)}" if len(chosen) > 1 else f"{c:g}" for c in sorted(set(chosen)))


def read(folder: Path, names: Sequence[str]) -> list[ClassificationTask]:
    tasks = []
    for name in names:
        try:
            tasks.append(read_classification(folder, name))
        except BenchmarkMissing as error:
            print(f"{name} is left out: {error}")
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and agreement of the probe compared with scikit-learn.")
    parser.add_argument("--data", type=Path, required=True, help="what SentEval calls data/downstream")
    parser.add_argument("--dimension", type=int, default=2400, help="of the vectors, even")
    parser.add_argument("--tasks", nargs="+", default=list(CLASSIFICATION), choices=CLASSIFICATION)
    parser.add_argument("--sklearn-folds", type=int, default=1, help="outer folds that scikit-learn does, of ten")
    arguments = parser.parse_args()
    vectors = WordSums(arguments.dimension)
    print(f"{torch.get_num_threads()} threads, {arguments.dimension} dimensions, protocol {SENTEVAL.name}")
    heads = ["task", "rows", "ours s", "sklearn s", "outer folds", "fits", "capped", "ratio"]
    heads += ["ours %", "sklearn %", "points", "same C", "C ours (all)", "C sklearn"]
    widths = [7, 6, 7, 9, 11, 5, 6, 6, 7, 9, 6, 6, 24, 12]
    print("  ".join(head.rjust(width) for head, width in zip(heads, widths, strict=True)), flush=True)
    ours, theirs = 0.0, 0.0
    for task in read(arguments.data, arguments.tasks):
        for column in {"text", "text2"} & set(task.table):
            vectors(task.table[column].tolist())
        start = time.perf_counter()
        result = run_probe(task, vectors, SENTEVAL)
        seconds = time.perf_counter() - start
        peer = run_peer(task, vectors, arguments.sklearn_folds)
        score, expected = (
            100 * value for value in (accuracy_of(result, arguments.sklearn_folds), np.mean(peer.accuracies))
        )
        same = 100 * (at_our_strengths(task, vectors, result) - result.metrics["accuracy"])
        ours, theirs = ours + seconds, theirs + peer.seconds
        sampled = f"{len(peer.chosen)} of {len(result.chosen)}"
        cells = [task.name, str(len(task.table)), f"{seconds:.1f}", f"{peer.seconds:.0f}", sampled, str(peer.fits)]
        cells += [str(peer.capped), f"{peer.seconds / seconds:.0f}", f"{score:.2f}", f"{expected:.2f}"]
        cells += [f"{expected - score:+.2f}", f"{same:+.2f}", spread(result.chosen), spread(peer.chosen)]
        print("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)), flush=True)
    print(f"all tasks: ours {ours:.0f} s, scikit-learn {theirs:.0f} s", end=" ")
    scaled = arguments.sklearn_folds < NUM_FOLDS
    print(
        f"(scaled up from the outer folds it ran): {theirs / ours:.0f} times"
        if scaled
        else f": {theirs / ours:.0f} times"
    )


if __name__ == "__main__":
    main()
