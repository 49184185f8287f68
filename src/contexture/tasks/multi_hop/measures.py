"""Scores of answers and supporting facts, as in HotpotQA's official evaluation."""

import re
import string
from collections import Counter
from collections.abc import Collection, Hashable
from typing import NamedTuple

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
#: Answers without partial credit.
ALL_OR_NOTHING = ("yes", "no", "noanswer")


class AnswerScores(NamedTuple):
    """Scores of one question."""

    em: float
    f1: float
    precision: float
    recall: float


def normalise_answer(answer: str) -> str:
    """Return the answer in lower case without punctuation, articles and extra spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def score_answer(predicted: str, gold: str) -> AnswerScores:
    """Return exact match, F1, precision and recall of an answer's words. `yes` and `no` have no partial credit."""
    predicted, gold = normalise_answer(predicted), normalise_answer(gold)
    if predicted != gold and (predicted in ALL_OR_NOTHING or gold in ALL_OR_NOTHING):
        return AnswerScores(0, 0, 0, 0)
    common = (Counter(predicted.split()) & Counter(gold.split())).total()
    return _score_overlap(predicted == gold, common, len(predicted.split()), len(gold.split()))


def score_facts(predicted: Collection[Hashable], gold: Collection[Hashable]) -> AnswerScores:
    """Return exact match, F1, precision and recall of predicted facts."""
    predicted, gold = set(predicted), set(gold)
    return _score_overlap(predicted == gold, len(predicted & gold), len(predicted), len(gold))


def combine_scores(answer: AnswerScores, support: AnswerScores) -> AnswerScores:
    """Return the joint scores of answer and support: products of precisions, recalls and exact matches, and F1."""
    return _add_f1(answer.em * support.em, answer.precision * support.precision, answer.recall * support.recall)


def _score_overlap(equal: bool, common: int, predicted: int, gold: int) -> AnswerScores:
    """Return the scores of a prediction from the numbers of common, predicted and gold items."""
    return _add_f1(float(equal), common / predicted if predicted else 0, common / gold if gold else 0)


def _add_f1(em: float, precision: float, recall: float) -> AnswerScores:
    """Return the scores with the F1 of precision and recall."""
    total = precision + recall
    return AnswerScores(em, 2 * precision * recall / total if total else 0.0, precision, recall)
