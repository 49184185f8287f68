"""Measures of answers and supporting facts, as in HotpotQA's official evaluation."""

import re
import string
from collections import Counter
from collections.abc import Collection, Hashable
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: Answers that are right as a whole or not at all.
CLOSED = ("yes", "no", "noanswer")


class Measure(NamedTuple):
    """Of one question."""

    em: float
    f1: float
    precision: float
    recall: float


def normalised(answer: str) -> str:
    """Lower case, without punctuation, articles and extra space."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def answer_measure(predicted: str, gold: str) -> Measure:
    """Exact match, and F1 of the words; yes and no are never right in part."""
    predicted, gold = normalised(predicted), normalised(gold)
    if predicted != gold and (predicted in CLOSED or gold in CLOSED):
        return Measure(0, 0, 0, 0)
    common = (Counter(predicted.split()) & Counter(gold.split())).total()
    return _overlap(predicted == gold, common, len(predicted.split()), len(gold.split()))


def support_measure(predicted: Collection[Hashable], gold: Collection[Hashable]) -> Measure:
    """Exact match and F1 of two sets of facts."""
    predicted, gold = set(predicted), set(gold)
    return _overlap(predicted == gold, len(predicted & gold), len(predicted), len(gold))


def joint_measure(answer: Measure, support: Measure) -> Measure:
    """Of both together: products of precisions, of recalls and of exact matches."""
    return _measure(answer.em * support.em, answer.precision * support.precision, answer.recall * support.recall)


def _overlap(equal: bool, common: int, predicted: int, gold: int) -> Measure:
    return _measure(float(equal), common / predicted if predicted else 0, common / gold if gold else 0)


def _measure(em: float, precision: float, recall: float) -> Measure:
    both = precision + recall
    return Measure(em, 2 * precision * recall / both if both else 0.0, precision, recall)
