"""Sentence analogies A:B::C:D (Quick-Thoughts, appendix A): is D the sentence nearest to v(C) + v(B) − v(A)?

Guu et al. (2017) made them from pairs of words.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from contexture.retrieval.top import ROUNDING_ERROR
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.files import read_lines
from contexture.tasks.sentences.neighbours import Block, embed_blocks, normalise_space, search_pool
from contexture.tasks.sentences.vectors import Lookup

#: Category of the row with all questions.
ALL_CATEGORIES = "all"
_SENTENCES = ["a", "b", "c", "d"]
_COLUMNS = ["category", *_SENTENCES]
#: Questions of a tuple: each sentence is the answer once.
_QUESTIONS = ["abcd", "badc", "cdab", "dcba"]
# A, B, C, D and the best other candidate decide a question.
_NUM_NEAREST = 5
_REMEDY = (
    "Name a file, plain or gzipped and without a header, with lines `category TAB A TAB B TAB C TAB D`, or set "
    "sentences.analogies to null."
)


def read_analogies(path: Path) -> pd.DataFrame:
    """Read analogies: a table with one row per line, with category (such as `family`), a, b, c and d.

    Raises BenchmarkMissing if the file is absent, and ValueError, with the line, unless it has five non-empty fields.
    """
    if not path.is_file():
        raise BenchmarkMissing("The set of sentence analogies", path, _REMEDY)
    rows = [[field.strip() for field in line.split("\t")] for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(_COLUMNS) or not all(row):
            raise ValueError(
                f"{path}, line {number}: {sum(map(bool, row))} of {len(row)} fields hold text; "
                "a line must be a category and four sentences, separated by tabs"
            )
    return pd.DataFrame(rows, columns=_COLUMNS)


def build_questions(tuples: pd.DataFrame) -> pd.DataFrame:
    """Return a table of four questions per tuple: A:B::C:D, B:A::D:C, C:D::A:B and D:C::B:A; d is the answer."""
    rows = [
        [row["category"], *(row[name] for name in order)] for row in tuples.to_dict("records") for order in _QUESTIONS
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def measure_analogies(tuples: pd.DataFrame, vectors: Lookup, other_candidates: Iterable[Block] = ()) -> pd.DataFrame:
    """Return the share of questions, by category, whose answer is nearest by cosine to v(C) + v(B) − v(A).

    Vectors are not normalised before they are added. As in the paper, `accuracy` keeps A, B and C as candidates (the
    common failure is C); `accuracy_excluding` removes them. A tie with another candidate is wrong.

    Args:
        tuples: of `read_analogies`; their sentences are candidates.
        vectors: of these sentences.
        other_candidates: further candidates (a million in the paper), read once.

    Returns:
        One row per category, then `ALL_CATEGORIES`: category, questions, accuracy and accuracy_excluding (0 … 1).
    """
    table = build_questions(tuples)
    sentences = list(dict.fromkeys(tuples[_SENTENCES].to_numpy().ravel().tolist()))
    sentence_vectors = vectors(sentences)
    row_of = {sentence: row for row, sentence in enumerate(sentences)}
    a, b, c = (sentence_vectors[table[column].map(row_of).to_numpy()] for column in "abc")
    pool = chain(
        embed_blocks(sentences, lambda block: sentence_vectors[[row_of[sentence] for sentence in block]]),
        other_candidates,
    )
    cosines, nearest, texts = search_pool(c + b - a, pool, _NUM_NEAREST)
    right = []
    for (_, *premises, answer), scores, rows in zip(table.to_numpy().tolist(), cosines.tolist(), nearest, strict=True):
        candidates = {normalise_space(texts[row]): score for row, score in zip(rows, scores, strict=True)}
        excluded = {normalise_space(text) for text in premises}
        remaining = {text: score for text, score in candidates.items() if text not in excluded}
        right.append([_is_nearest(normalise_space(answer), scored) for scored in (candidates, remaining)])
    table[["accuracy", "accuracy_excluding"]] = np.array(right, np.float64)
    groups = [table, table.assign(category=ALL_CATEGORIES)]
    return pd.concat([_average_by_category(group) for group in groups], ignore_index=True)


def _is_nearest(answer: str, cosines: dict[str, float]) -> bool:
    """Return whether the answer's cosine is higher than that of every other candidate (candidate → cosine)."""
    rivals = [cosine for text, cosine in cosines.items() if text != answer]
    return answer in cosines and all(cosine < cosines[answer] - ROUNDING_ERROR for cosine in rivals)


def _average_by_category(table: pd.DataFrame) -> pd.DataFrame:
    """Return the number of questions and both mean accuracies by category."""
    return (
        table.groupby("category", sort=True)
        .agg(questions=("d", "size"), accuracy=("accuracy", "mean"), accuracy_excluding=("accuracy_excluding", "mean"))
        .reset_index()
    )
