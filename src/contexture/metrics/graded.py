"""nDCG and recall of rankings with graded relevance, as in trec_eval."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

#: The depths of nDCG and recall.
NDCG_DEPTH, RECALL_DEPTHS = 10, (1, 10, 100)
#: The columns of `graded_metrics` and the metric names of the records.
METRICS = [f"ndcg_at_{NDCG_DEPTH}", *(f"recall_at_{k}" for k in RECALL_DEPTHS)]

_DISCOUNTS = 1 / np.log2(np.arange(2, NDCG_DEPTH + 2))


def graded_metrics(ranked: Sequence[Sequence[Hashable]], relevant: Sequence[Mapping[Hashable, float]]) -> pd.DataFrame:
    """Return nDCG@10 and recall@1, 10 and 100 (columns `METRICS`, 0..1), one row per query.

    The gain of nDCG is the relevance, its discount log2(rank + 1), its ideal the best order of all relevant items.
    Recall is the share of all relevant items.

    Args:
        ranked: the ranked items of each query, best first, without repetitions.
        relevant: the relevance of items to each query; missing items, and those of 0 or less, are not relevant.

    Raises ValueError for different numbers of queries, and for a query without relevant items.
    """
    if len(ranked) != len(relevant):
        raise ValueError(f"{len(ranked)} rankings of {len(relevant)} queries")
    rows = [_measure_query(*query, number) for number, query in enumerate(zip(ranked, relevant, strict=True))]
    return pd.DataFrame(rows, columns=METRICS, dtype="float64")


def _measure_query(ranked: Sequence[Hashable], graded: Mapping[Hashable, float], number: int) -> list[float]:
    """Return the metrics `METRICS` of the ranked items of a query; raises ValueError if no item is relevant."""
    gains = {item: gain for item, gain in graded.items() if gain > 0}
    if not gains:
        raise ValueError(f"query {number} (from 0) has no relevant item: leave it out")
    reached = [gains.get(item, 0) for item in ranked[: max(RECALL_DEPTHS)]]
    ndcg = _dcg(reached) / _dcg(sorted(gains.values(), reverse=True))
    return [ndcg, *(sum(gain > 0 for gain in reached[:k]) / len(gains) for k in RECALL_DEPTHS)]


def _dcg(gains: Sequence[float]) -> float:
    """Return the discounted cumulative gain of the first `NDCG_DEPTH` items, given the gains of ranked items."""
    first = np.asarray(gains[:NDCG_DEPTH], np.float64)
    return float(first @ _DISCOUNTS[: len(first)])
