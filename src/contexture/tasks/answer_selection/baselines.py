"""Baselines: word overlap (Yang, Yih and Meek, 2015), file order and random order.

Answers occur early in articles: file order has a test MAP of 63 on WikiQA.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pandas as pd

Scores = npt.NDArray[np.float64]

_WORD = re.compile(r"\w+")


def score_randomly(answers: pd.DataFrame, seed: int) -> Scores:
    """Return a pseudo-random score in [0, 1) for each row, which the seed and the row's ids determine."""
    keys = zip(answers["question_id"], answers["candidate_id"], strict=True)
    digests = (blake2b(repr((seed, *key)).encode(), digest_size=8).digest() for key in keys)
    return np.array([int.from_bytes(digest, "big") / 2**64 for digest in digests])


def score_by_file_order(answers: pd.DataFrame) -> Scores:
    """Return scores that are higher for candidates earlier in their file: minus `position`."""
    return -answers["position"].to_numpy(np.float64)


def score_by_word_overlap(answers: pd.DataFrame, idf: dict[str, float]) -> Scores:
    """Return, for each row, the summed idf of the words that question and candidate share."""
    of_question = {question: split_words(question) for question in answers["question"].unique()}
    shared = (
        of_question[question] & split_words(candidate)
        for question, candidate in zip(answers["question"], answers["candidate"], strict=True)
    )
    # fsum is exact: rounding would make ties depend on set order.
    return np.array([math.fsum(idf.get(word, 0.0) for word in both) for both in shared])


def compute_idf(texts: Iterable[str]) -> dict[str, float]:
    """Return word → log(texts / texts with the word) over distinct texts."""
    distinct = set(texts)
    counts = Counter(word for text in distinct for word in split_words(text))
    return {word: math.log(len(distinct) / count) for word, count in counts.items()}


def split_words(text: str) -> set[str]:
    """Return the set of lower-cased words of a text."""
    return set(_WORD.findall(text.lower()))
