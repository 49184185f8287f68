"""How good answers and supporting facts are, as HotpotQA's official evaluation counts it."""

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


def answer_measure(found: str, gold: str) -> Measure:
    """Exact match, and F1 of the words; yes and no have no part that could be right."""
    one, other = normalised(found), normalised(gold)
    em = float(one == other)
    common = (Counter(one.split()) & Counter(other.split())).total()
    if common == 0 or (em == 0 and (one in CLOSED or other in CLOSED)):
        return Measure(em, 0, 0, 0)
    return _measure(em, common / len(one.split()), common / len(other.split()))


def support_measure(found: Collection[Hashable], gold: Collection[Hashable]) -> Measure:
    """The same of two sets of facts."""
    one, other = set(found), set(gold)
    right = len(one & other)
    return _measure(float(one == other), right / len(one) if one else 0, right / len(other) if other else 0)


def joint_measure(answer: Measure, support: Measure) -> Measure:
    """Of both together: products of precisions, of recalls and of exact matches."""
    return _measure(answer.em * support.em, answer.precision * support.precision, answer.recall * support.recall)


def _measure(em: float, precision: float, recall: float) -> Measure:
    both = precision + recall
    return Measure(em, 2 * precision * recall / both if both else 0.0, precision, recall)
