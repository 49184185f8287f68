"""nDCG and recall of rankings by graded relevance, as trec_eval computes them."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

#: How deep nDCG looks, and recall.
NDCG_AT, RECALL_AT = 10, (1, 10, 100)
#: The columns of `graded_metrics` and the metric names of the records.
METRICS = [f"ndcg_at_{NDCG_AT}", *(f"recall_at_{k}" for k in RECALL_AT)]

_DISCOUNTS = 1 / np.log2(np.arange(2, NDCG_AT + 2))


def graded_metrics(ranked: Sequence[Sequence[Hashable]], relevant: Sequence[Mapping[Hashable, float]]) -> pd.DataFrame:
    """nDCG@10 and recall@1, 10 and 100 of each query.

    Args:
        ranked: of each query what was found, best first, nothing twice.
        relevant: of each query how relevant items are; those that are not named, and those of 0 or less, are not.

    Returns:
        One row a query, the columns METRICS, each 0..1. The gain of nDCG is the relevance itself, its discount
        log2(rank + 1), its ideal the best order of all that is relevant to the query. Recall is the share of all that
        is relevant.

    Raises:
        ValueError: for other numbers of queries, and for a query to which nothing is relevant: both measures are
            undefined for it.
    """
    if len(ranked) != len(relevant):
        raise ValueError(f"{len(ranked)} rankings of {len(relevant)} queries")
    rows = [_of_query(found, graded, place) for place, (found, graded) in enumerate(zip(ranked, relevant, strict=True))]
    return pd.DataFrame(rows, columns=METRICS, dtype="float64")


def _of_query(found: Sequence[Hashable], graded: Mapping[Hashable, float], place: int) -> list[float]:
    gains = {item: gain for item, gain in graded.items() if gain > 0}
    if not gains:
        raise ValueError(f"query {place} (from 0): nothing is relevant to it; leave it out")
    reached = [gains.get(item, 0) for item in found[: max(RECALL_AT)]]
    ndcg = _dcg(reached) / _dcg(sorted(gains.values(), reverse=True))
    return [ndcg, *(sum(gain > 0 for gain in reached[:k]) / len(gains) for k in RECALL_AT)]


def _dcg(gains: Sequence[float]) -> float:
    first = np.asarray(gains[:NDCG_AT], np.float64)
    return float(first @ _DISCOUNTS[: len(first)])
