"""Semantic textual similarity without training: cosines compared with human scores.

A year of STS has several subsets. Results differ by points between the three ways to aggregate them; all three are
computed for both correlations. Quick-Thoughts' Table 8 has Pearson correlations by subset.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import pearsonr, spearmanr

from contexture.tasks.sentences.probe import name_task_in_errors
from contexture.tasks.sentences.relatedness import Numbers, correlation
from contexture.tasks.sentences.tables import SimilarityTask
from contexture.tasks.sentences.vectors import Array, Lookup, finite_vectors

#: Cosines are rounded, so that the last bits of a sum do not break ties.
_DECIMALS = 10

_CORRELATIONS = {"pearson": pearsonr, "spearman": spearmanr}


@dataclass(frozen=True, eq=False)
class SimilarityResult:
    """Correlations of one task, from −1 to 1."""

    subsets: pd.DataFrame
    """One row per subset, in the task's order: subset, pairs, pearson, spearman."""
    aggregates: dict[str, float]
    """`<correlation>_mean` over subsets, `_weighted_mean` with the subsets' pairs as weights, and `_pooled`: one
    correlation over the pairs of all subsets together."""


def measure_similarity(task: SimilarityTask, vectors: Lookup) -> SimilarityResult:
    """Return the correlations of the cosines of a task's pairs with their scores; 0 for constant cosines.

    Raises ValueError for vectors that are not finite, and for a subset with constant scores.
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
                f"{task.name}, subset {subset}: all {chosen.sum()} scores are {scores[chosen][0]:g}, so that no "
                "correlation is defined; remove the subset"
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
    """Return the cosine of each row of `left` [N, D] with the same row of `right`; 0 for a zero vector."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    # Scale the largest entry to 1 to avoid underflow and overflow of norms.
    a, b = (x / np.maximum(np.abs(x).max(axis=1, keepdims=True), np.finfo(np.float64).tiny) for x in (a, b))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    dots: Numbers = np.einsum("nd,nd->n", a, b)
    cosines: Numbers = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return cosines


def _correlations(cosines: Numbers, scores: Numbers) -> list[float]:
    """Return the Pearson and the Spearman correlation of cosines with scores."""
    return [correlation(measure, cosines, scores) for measure in _CORRELATIONS.values()]
