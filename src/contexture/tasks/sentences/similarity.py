"""Semantic textual similarity without training: the cosine of two sentences' vectors against what people said.

A year of STS has several subsets, and there are three ways to make one figure of them, which differ by points; all
three are given, for both correlations. QT's Table 8 has Pearson's by subset.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from contexture.tasks.sentences.tables import SimilarityTask
from contexture.tasks.sentences.vectors import Lookup

Numbers = NDArray[np.float64]

#: Cosines are compared by so many decimals: equal ones must not get different ranks from the last bits of a sum.
_DECIMALS = 10

_CORRELATIONS = {"pearson": pearsonr, "spearman": spearmanr}


@dataclass(frozen=True, eq=False)
class SimilarityResult:
    """Correlations of one task, each from −1 to 1."""

    subsets: pd.DataFrame
    """A row a subset, in the task's order: subset, pairs, pearson, spearman."""
    aggregates: dict[str, float]
    """`<correlation>_mean` over subsets, `_weighted_mean` with the subsets' pairs as weights, and `_pooled`: one
    correlation over the pairs of all subsets together."""
    zero_vectors: int
    """Pairs in which a vector is zero, as where an encoder knows no word of a sentence; their cosine counts as 0."""


def similarity(task: SimilarityTask, vectors: Lookup) -> SimilarityResult:
    """Correlate the cosines of a task's pairs with their scores. A constant cosine has a correlation of 0.

    Raises:
        ValueError: a vector is not finite, or a subset has fewer than two different scores.
    """
    table = task.table
    cosines, zero = _pair_cosines(task, vectors)
    scores = table["score"].to_numpy(np.float64)
    rows = []
    for subset in table["subset"].unique():
        chosen = (table["subset"] == subset).to_numpy()
        name = f"{task.name}, subset {subset}"
        rows.append((subset, int(chosen.sum()), *_correlate(name, cosines[chosen], scores[chosen])))
    subsets = pd.DataFrame(rows, columns=["subset", "pairs", *_CORRELATIONS])
    aggregates: dict[str, float] = {}
    for kind, pooled in zip(_CORRELATIONS, _correlate(task.name, cosines, scores), strict=True):
        aggregates[f"{kind}_mean"] = float(subsets[kind].mean())
        aggregates[f"{kind}_weighted_mean"] = float(np.average(subsets[kind], weights=subsets["pairs"]))
        aggregates[f"{kind}_pooled"] = pooled
    return SimilarityResult(subsets, aggregates, zero)


def cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> Numbers:
    """The cosine of each row of `left` [N, dimension] with the same row of `right`; 0 where one of them is zero."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    # Brought to a largest entry of 1 first, very small and very large vectors have norms as well.
    a, b = (x / np.maximum(np.abs(x).max(axis=1, keepdims=True), np.finfo(np.float64).tiny) for x in (a, b))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    dots: Numbers = np.einsum("nd,nd->n", a, b)
    cosines: Numbers = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return cosines


def _pair_cosines(task: SimilarityTask, vectors: Lookup) -> tuple[Numbers, int]:
    """The cosine of every pair, and in how many of them there is a zero vector."""
    sentences = pd.concat([task.table["text"], task.table["text2"]], ignore_index=True)
    places, index = pd.factorize(sentences)
    distinct = [str(sentence) for sentence in index]
    found = vectors(distinct)
    if not np.isfinite(found).all():
        bad = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
        raise ValueError(f"{task.name}: the vector of {distinct[bad]!r} is not finite; the encoder has broken down")
    left, right = np.split(places, 2)
    zero = np.count_nonzero(found, axis=1) == 0
    return cosine(found[left], found[right]).round(_DECIMALS), int((zero[left] | zero[right]).sum())


def _correlate(name: str, cosines: Numbers, scores: Numbers) -> list[float]:
    if not np.ptp(scores):
        raise ValueError(
            f"{name}: all of its {len(scores)} scores are {scores[0]:g}, so nothing can correlate with them"
        )
    if not np.ptp(cosines):
        return [0.0] * len(_CORRELATIONS)
    return [float(correlation(cosines, scores).statistic) for correlation in _CORRELATIONS.values()]
