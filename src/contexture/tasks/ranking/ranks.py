"""Ranks of right candidates, their metrics, expected metrics of random order, and confidence intervals."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.metrics.bootstrap import bootstrap_intervals
from contexture.tasks.ranking.config import RECALL_AT, Protocol
from contexture.tasks.ranking.data import Questions

BM25 = "bm25"
#: The metric names of the records.
METRICS = [*(f"recall_at_{k}" for k in RECALL_AT), "mrr"]

Numbers = npt.NDArray[np.floating]
Ranks = npt.NDArray[np.int64]


def order_by_score(scores: Numbers, right: npt.NDArray[np.bool_]) -> Ranks:
    """Return the positions of a question's candidates by score, best first; ties put right candidates last.

    Raises ValueError for NaN.
    """
    if np.isnan(scores).any():
        raise ValueError("a score is not a number; check whether the training diverged")
    return np.lexsort((right, -scores))


def right_ranks(scores: Numbers, right: npt.NDArray[np.bool_]) -> Ranks:
    """Return the ranks, from 1, of a question's right candidates; see `order_by_score`."""
    return np.flatnonzero(right[order_by_score(scores, right)]) + 1


def question_metrics(ranks: Ranks, num_right: int, all_needed: bool) -> list[float]:
    """Return R@1, R@20 and the reciprocal rank (`METRICS`) of one question.

    Args:
        ranks: ascending ranks of the right candidates that were ranked.
        num_right: number of right candidates, including those that are not ranked.
        all_needed: recall is the share of right candidates among the first k; otherwise one is enough.
    """
    hits = [int((ranks <= k).sum()) for k in RECALL_AT]
    recalls = [count / num_right if all_needed else float(count > 0) for count in hits]
    return [*recalls, 1 / int(ranks[0]) if len(ranks) else 0.0]


def expected_metrics(candidates: int, right: int, num_right: int, all_needed: bool) -> list[float]:
    """Return the expected `METRICS` of one question in random order.

    Args:
        candidates: number of candidates.
        right: number of right ones among them.
        num_right, all_needed: see `question_metrics`.
    """
    if not right:
        return [0.0] * len(METRICS)
    # For r = 0, 1, …: probability that none of the first r candidates is right.
    position = np.arange(candidates - right + 1)
    none_right = np.concatenate([[1.0], np.cumprod((candidates - right - position) / (candidates - position))])
    if all_needed:
        recalls = [min(k, candidates) * right / candidates / num_right for k in RECALL_AT]
    else:
        recalls = [1 - float(none_right[min(k, len(none_right) - 1)]) for k in RECALL_AT]
    return [*recalls, float((-np.diff(none_right) / (position + 1)).sum())]


def chance_metrics(questions: Questions, all_needed: bool) -> pd.DataFrame:
    """Return the expected `METRICS` of each question in random order, by question id."""
    rows = [
        expected_metrics(len(candidates), int(np.isin(candidates, right).sum()), len(right), all_needed)
        for candidates, right in zip(questions.candidates, questions.right, strict=True)
    ]
    return pd.DataFrame(rows, columns=METRICS, index=questions.ids)


def describe_confidence(table: pd.DataFrame, chance: Mapping[Protocol, pd.DataFrame]) -> dict[str, Any]:
    """Return 95% bootstrap intervals of the means over questions on one set, by protocol; seeds are averaged first.

    Args:
        table: variant, seed, protocol, question_id and `METRICS` for each question.
        chance: by protocol, the result of `chance_metrics`; other protocols use that of frozen encoders.

    Returns:
        protocol → {"questions": their number, "chance": metric → mean expectation, "variants": variant → {"means",
        "over_bm25", "over_chance"}}, each of these metric → [mean, lower end, upper end]. BM25 has no "over_bm25".
        Protocols without BM25 compare with BM25 of frozen encoders.
    """
    means = table.groupby(["protocol", "variant", "question_id"], sort=False)[METRICS].mean()
    pairs = list(means.index.droplevel("question_id").unique())
    columns: dict[tuple[str, str, str, str], pd.Series] = {}
    for protocol, variant in pairs:
        values = means.loc[(protocol, variant)]
        parts = {"means": values, "over_chance": values - chance[_pool_protocol(protocol)]}
        if variant != BM25:
            parts["over_bm25"] = values - means.loc[(protocol if (protocol, BM25) in pairs else "frozen", BM25)]
        columns |= {
            (protocol, variant, part, metric): numbers[metric] for part, numbers in parts.items() for metric in METRICS
        }
    questions = pd.DataFrame(columns)
    confidence: dict[str, Any] = {}
    for column, mean, ends in zip(columns, questions.mean(), bootstrap_intervals(questions.to_numpy()), strict=True):
        protocol, variant, part, metric = column
        if protocol not in confidence:
            expected = chance[_pool_protocol(protocol)].mean().to_dict()
            confidence[protocol] = {"questions": len(questions), "chance": expected, "variants": {}}
        parts = confidence[protocol]["variants"].setdefault(variant, {})
        parts.setdefault(part, {})[metric] = [float(mean), *map(float, ends)]
    return confidence


def _pool_protocol(protocol: str) -> Protocol:
    """Return the protocol whose pool another protocol ranks."""
    return "finetuned" if protocol == "finetuned" else "frozen"
