"""Sentence analogies A:B::C:D (Quick-Thoughts paper, appendix A): is D the sentence nearest to v(C) + v(B) − v(A)?

Guu et al. (2017) made them from pairs of words.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.files import read_lines
from contexture.tasks.sentences.neighbours import ROUNDING_ERROR, Block, embed_blocks, normalise_space, search_pool
from contexture.tasks.sentences.vectors import Lookup

#: The row of the result that is of all questions.
ALL_CATEGORIES = "all"
_SENTENCES = ["a", "b", "c", "d"]
_COLUMNS = ["category", *_SENTENCES]
#: The four questions of a tuple: each of its sentences is the answer once.
_QUESTIONS = ["abcd", "badc", "cdab", "dcba"]
# A, B, C, D and the best other one: what decides a question is among these.
_NUM_NEAREST = 5
_REMEDY = (
    "Name a file of lines `category TAB A TAB B TAB C TAB D` without a header, plain or gzipped, with one analogy of "
    "sentences a line, or leave the task out."
)


def read_analogies(path: Path) -> pd.DataFrame:
    """Read tuples of four sentences: one row a line, columns category (of their relation, as `family`), a, b, c, d.

    Raises BenchmarkMissing if the file is absent, and ValueError, naming the line, for one without five fields of text.
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
    """The four questions of each tuple: A:B::C:D, B:A::D:C, C:D::A:B and D:C::B:A; d is the answer."""
    rows = [
        [row["category"], *(row[name] for name in order)] for row in tuples.to_dict("records") for order in _QUESTIONS
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def measure_analogies(tuples: pd.DataFrame, vectors: Lookup, other_candidates: Iterable[Block] = ()) -> pd.DataFrame:
    """Share of the questions whose answer is the sentence nearest to v(C) + v(B) − v(A), by cosine.

    Vectors are added as they are, and the candidates are all sentences of the tuples and `other_candidates`. As in the paper,
    where finding C itself is the common failure, no candidate is excluded for `accuracy`; A, B and C are for
    `accuracy_excluding`. An answer as near as another candidate is wrong.

    `tuples` are as `read_analogies` has them, `other_candidates` other candidates (the paper: a million), read once. Returns one
    row a category, sorted, then one of `ALL_CATEGORIES`: category, questions, accuracy and accuracy_excluding (0 … 1).
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
    rivals = [cosine for text, cosine in cosines.items() if text != answer]
    return answer in cosines and all(cosine < cosines[answer] - ROUNDING_ERROR for cosine in rivals)


def _average_by_category(table: pd.DataFrame) -> pd.DataFrame:
    return (
        table.groupby("category", sort=True)
        .agg(questions=("d", "size"), accuracy=("accuracy", "mean"), accuracy_excluding=("accuracy_excluding", "mean"))
        .reset_index()
    )
