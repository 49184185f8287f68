"""Sentence analogies A:B::C:D (Quick-Thoughts paper, appendix A): is D the sentence nearest to v(C) + v(B) − v(A)?"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from contexture.retrieval.top import Scores
from contexture.tasks.sentences.neighbours import ROUNDING, Block, embedded, same_text, search_pool
from contexture.tasks.sentences.vectors import Lookup

#: The row of the result that is of all questions.
ALL = "all"
_SENTENCES = ["a", "b", "c", "d"]
#: The four questions of a tuple: each of its sentences is the answer once.
_QUESTIONS = ["abcd", "badc", "cdab", "dcba"]
# A, B, C, D and the best other one: what decides a question is among these.
_FOUND = 5


def questions(tuples: pd.DataFrame) -> pd.DataFrame:
    """The four questions of each tuple: A:B::C:D, B:A::D:C, C:D::A:B and D:C::B:A.

    Args:
        tuples: columns category, a, b, c, d.

    Returns:
        The same columns, four rows a tuple; d is the answer.
    """
    asked = [
        {"category": row["category"], **dict(zip(_SENTENCES, (row[name] for name in order), strict=True))}
        for row in tuples.to_dict("records")
        for order in _QUESTIONS
    ]
    return pd.DataFrame(asked, columns=["category", *_SENTENCES])


def analogies(tuples: pd.DataFrame, vectors: Lookup, others: Iterable[Block] = ()) -> pd.DataFrame:
    """Share of the questions whose answer is the sentence nearest to v(C) + v(B) − v(A), by cosine.

    Vectors are added as they are, and the candidates are all sentences of the tuples and `others`. As in the paper,
    where finding C itself is the common failure, no candidate is excluded for `accuracy`; A, B and C are for
    `accuracy_excluding`. An answer as near as another candidate is wrong.

    Args:
        tuples: columns category, a, b, c, d.
        vectors: of sentences.
        others: more candidates and their vectors (the paper: a million), read once.

    Returns:
        One row a category, sorted, then one of `ALL`: category, questions, accuracy and accuracy_excluding (0 … 1).

    Raises:
        ValueError: for no tuple, or vectors that are not finite.
    """
    if tuples.empty:
        raise ValueError("there are no analogies; give a table of category, a, b, c, d")
    asked = questions(tuples)
    sentences = list(dict.fromkeys(tuples[_SENTENCES].to_numpy().ravel().tolist()))
    known = vectors(sentences)
    row = {sentence: number for number, sentence in enumerate(sentences)}
    a, b, c = (known[asked[column].map(row).to_numpy()] for column in "abc")
    pool = chain(embedded(sentences, lambda block: known[[row[sentence] for sentence in block]]), others)
    cosines, found, texts = search_pool(c + b - a, pool, _FOUND)
    right = [
        _is_right(question, line, [same_text(texts[place]) for place in places])
        for question, line, places in zip(asked.itertuples(), cosines, found, strict=True)
    ]
    asked[["accuracy", "accuracy_excluding"]] = np.array(right, np.float64)
    return _shares(asked)


def _is_right(question: Any, cosines: Scores, found: list[str]) -> tuple[bool, bool]:
    """Whether the answer is the nearest of all, and of all but A, B and C."""
    answer = same_text(question.d)
    given = {same_text(text) for text in (question.a, question.b, question.c)}
    of_all = list(zip(found, cosines.tolist(), strict=True))
    return _leads(answer, of_all), _leads(answer, [(text, cosine) for text, cosine in of_all if text not in given])


def _leads(answer: str, found: list[tuple[str, float]]) -> bool:
    cosine = dict(found).get(answer)
    return cosine is not None and all(text == answer or other < cosine - ROUNDING for text, other in found)


def _shares(asked: pd.DataFrame) -> pd.DataFrame:
    means = {"questions": ("d", "size"), "accuracy": ("accuracy", "mean")}
    means["accuracy_excluding"] = ("accuracy_excluding", "mean")
    by_category = asked.groupby("category", sort=True).agg(**means).reset_index()
    overall = asked.assign(category=ALL).groupby("category").agg(**means).reset_index()
    return pd.concat([by_category, overall], ignore_index=True)
