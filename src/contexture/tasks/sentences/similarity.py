"""Semantic textual similarity without training: the cosine of two sentences' vectors against what people said.

A year of STS has several subsets, and there are three ways to make one figure of them, which differ by points; all
three are computed, for both correlations. QT's Table 8 has Pearson's by subset.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import pearsonr, spearmanr

from contexture.tasks.sentences.probe import name_task_in_errors
from contexture.tasks.sentences.relatedness import Numbers, correlation
from contexture.tasks.sentences.tables import SimilarityTask
from contexture.tasks.sentences.vectors import Array, Lookup, finite_vectors

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


def measure_similarity(task: SimilarityTask, vectors: Lookup) -> SimilarityResult:
    """Correlate the cosines of a task's pairs with their scores. A constant cosine has a correlation of 0.

    ValueError if a vector is not finite, or a subset has fewer than two different scores.
    """
    table = task.table
    codes, texts = pd.factorize(pd.concat([table["text"], table["text2"]]))
    with name_task_in_errors(task.name):
        embedded = finite_vectors(vectors, texts.tolist())
    left, right = np.split(codes, 2)
    cosines = cosine_similarity(embedded[left], embedded[right]).round(_DECIMALS)
    scores = table["score"].to_numpy(np.float64)
    rows = []
    for subset in table["subset"].unique():
        chosen = (table["subset"] == subset).to_numpy()
        if not np.ptp(scores[chosen]):
            raise ValueError(
                f"{task.name}, subset {subset}: all of its {chosen.sum()} scores are {scores[chosen][0]:g}, so nothing "
                "can correlate with them"
            )
        rows.append((subset, int(chosen.sum()), *_correlations(cosines[chosen], scores[chosen])))
    subsets = pd.DataFrame(rows, columns=["subset", "pairs", *_CORRELATIONS])
    aggregates: dict[str, float] = {}
    for kind, pooled in zip(_CORRELATIONS, _correlations(cosines, scores), strict=True):
        aggregates[f"{kind}_mean"] = float(subsets[kind].mean())
        aggregates[f"{kind}_weighted_mean"] = float(np.average(subsets[kind], weights=subsets["pairs"]))
        aggregates[f"{kind}_pooled"] = pooled
    return SimilarityResult(subsets, aggregates)


def cosine_similarity(left: Array, right: Array) -> Numbers:
    """The cosine of each row of `left` [N, dimension] with the same row of `right`; 0 if one of them is zero."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    # Brought to a largest entry of 1 first, very small and very large vectors have norms as well.
    a, b = (x / np.maximum(np.abs(x).max(axis=1, keepdims=True), np.finfo(np.float64).tiny) for x in (a, b))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    dots: Numbers = np.einsum("nd,nd->n", a, b)
    cosines: Numbers = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return cosines


def _correlations(cosines: Numbers, scores: Numbers) -> list[float]:
    return [correlation(measure, cosines, scores) for measure in _CORRELATIONS.values()]
