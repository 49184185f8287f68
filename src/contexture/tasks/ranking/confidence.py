"""Confidence intervals of ranking measures over questions, and their exact expectation by chance."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from contexture.metrics.bootstrap import intervals
from contexture.tasks.ranking.config import RECALL_AT, Protocol
from contexture.tasks.ranking.data import Questions
from contexture.tasks.ranking.ranks import METRICS

BM25 = "bm25"


def expected_measures(candidates: int, right: int, known: int, all_needed: bool) -> list[float]:
    """Return the expectation of `METRICS` for one question whose candidates are in random order.

    Args:
        candidates: number of candidates.
        right: number of right ones among them.
        known: number of right ones, those that are not among the candidates included.
        all_needed: whether recall is the share of the right ones among the first k, or whether one is enough.
    """
    if not right:
        return [0.0] * len(METRICS)
    # For r = 0, 1, …: probability that none of the first r candidates is right.
    position = np.arange(candidates - right + 1)
    none_right = np.concatenate([[1.0], np.cumprod((candidates - right - position) / (candidates - position))])
    recalls = []
    for k in RECALL_AT:
        if all_needed:
            recalls.append(min(k, candidates) * right / candidates / known)
        else:
            recalls.append(1 - float(none_right[min(k, len(none_right) - 1)]))
    return [*recalls, float((-np.diff(none_right) / (position + 1)).sum())]


def expect_by_chance(questions: Questions, all_needed: bool) -> pd.DataFrame:
    """Return the expectation of `METRICS` for each question, by question id, whose candidates are in random order."""
    rows = [
        expected_measures(len(candidates), int(np.isin(candidates, right).sum()), len(right), all_needed)
        for candidates, right in zip(questions.candidates, questions.right, strict=True)
    ]
    return pd.DataFrame(rows, columns=METRICS, index=questions.ids)


def describe_confidence(table: pd.DataFrame, chance: Mapping[Protocol, pd.DataFrame]) -> dict[str, Any]:
    """Return how certain the means of one set are, by protocol.

    A question counts with its mean over seeds. Intervals hold the mean over questions with 95%, by the bootstrap.

    Args:
        table: variant, seed, protocol, question_id and `METRICS` for each question.
        chance: by protocol, what `expect_by_chance` returns; other protocols rank the candidates of frozen encoders.

    Returns:
        protocol → {"questions": their number, "chance": metric → mean expectation, "variants": variant → {"means",
        "over_bm25", "over_chance"}}, each of these metric → [mean, lower end, upper end]. BM25 has no "over_bm25".
        BM25 of a protocol that does not measure it is that of frozen encoders.
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
    for column, mean, ends in zip(columns, questions.mean(), intervals(questions.to_numpy()), strict=True):
        protocol, variant, part, metric = column
        expected = {name: float(value) for name, value in chance[_pool_protocol(protocol)].mean().items()}
        block = confidence.setdefault(protocol, {"questions": len(questions), "chance": expected, "variants": {}})
        block["variants"].setdefault(variant, {}).setdefault(part, {})[metric] = [float(mean), *map(float, ends)]
    return confidence


def _pool_protocol(protocol: str) -> Protocol:
    """Return the protocol whose pool is ranked under another one."""
    return "finetuned" if protocol == "finetuned" else "frozen"
