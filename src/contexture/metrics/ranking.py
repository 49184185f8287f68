"""P@1, MAP and MRR of ranked candidates (MSPP paper, appendix B.3), computed by torchmetrics.

Ties count as the worst case: a positive ranks after all negatives with its score. The result does not depend on the
order of the rows, and equal scores gain nothing.

torchmetrics ignores positives with scores of zero or less, which logits may be. It gets the labels in ranked order with
falling positive numbers instead of the scores.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torchmetrics.functional.retrieval import (
    retrieval_average_precision,
    retrieval_precision,
    retrieval_reciprocal_rank,
)

from contexture.metrics.scores import QUESTION_COLUMNS, check_scores

#: The columns of `question_metrics` and the metric names of the records.
METRICS = ["p_at_1", "map", "mrr"]


def question_metrics(scores: pd.DataFrame) -> pd.DataFrame:
    """Return precision at 1, average precision and reciprocal rank of each question.

    One row per question and run, sorted: variant, seed, split, protocol, question_id, p_at_1, map, mrr (0..1).

    Raises ValueError, naming variant and question, for scores that `check_scores` rejects and for a question without a
    positive candidate.
    """
    rankings = _rankings(scores, QUESTION_COLUMNS)
    values = [(*question, *_measure_ranking(labels)) for question, labels in rankings.items()]
    return pd.DataFrame(values, columns=[*QUESTION_COLUMNS, *METRICS])


def mean_average_precision(scores: ArrayLike, labels: ArrayLike, question_index: ArrayLike) -> float:
    """Return the MAP (0..1) of candidates in any order.

    Scores [n] are higher for better candidates, labels [n] 0 or 1; candidates with the same `question_index` [n] are
    ranked together. Raises ValueError for no candidates, different lengths, and as `question_metrics`.
    """
    # Arrays, because pandas would align series by their index.
    columns = {"question_id": question_index, "label": labels, "score": scores}
    table = pd.DataFrame({name: np.asarray(values) for name, values in columns.items()})
    if table.empty:
        raise ValueError("no candidates to rank")
    rankings = _rankings(table.assign(candidate_id=range(len(table))), ["question_id"])
    return float(np.mean([_measure_ranking(ranking)[METRICS.index("map")] for ranking in rankings.values()]))


def _rankings(scores: pd.DataFrame, question: list[str]) -> dict[tuple[Any, ...], bytes]:
    """Check scores and return each question's labels (0 or 1, as bytes) in ranked order, best first."""
    check_scores(scores, question)
    groups = scores.groupby(question, sort=True).ngroup().to_numpy()
    labels, values = scores["label"].to_numpy(np.uint8), scores["score"].to_numpy(np.float64)
    order = np.lexsort((labels, -values, groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    names = scores[question].iloc[order[starts]].itertuples(index=False, name=None)
    rankings = [ranked.tobytes() for ranked in np.split(labels[order], starts[1:]) if len(ranked)]
    for name, ranking in (result := dict(zip(names, rankings, strict=True))).items():
        if 1 not in ranking:
            location = ", ".join(f"{column}={value}" for column, value in zip(question, name, strict=True))
            raise ValueError(f"a question without a positive candidate: clean the split first ({location})")
    return result


# Most questions share a few patterns of ranked labels, and torchmetrics is slow for each.
@lru_cache(maxsize=100_000)
def _measure_ranking(ranked_labels: bytes) -> tuple[float, float, float]:
    """Return precision at 1, average precision and reciprocal rank of labels in ranked order, as bytes."""
    target = torch.frombuffer(bytearray(ranked_labels), dtype=torch.uint8).long()
    falling = torch.arange(len(target), 0, -1, dtype=torch.float32)
    return (
        float(retrieval_precision(falling, target, top_k=1)),
        float(retrieval_average_precision(falling, target)),
        float(retrieval_reciprocal_rank(falling, target)),
    )
