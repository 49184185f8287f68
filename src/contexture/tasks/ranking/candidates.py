"""Candidates of questions from all texts of a set: found by BM25, or drawn at random."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from contexture.retrieval.top import NOTHING
from contexture.tasks.ranking.config import Pools
from contexture.tasks.retrieval.reqa import stable_id

#: Questions that BM25 answers at a time.
SEARCH_BATCH = 1000

Rows = npt.NDArray[np.integer]


def search_candidates(questions: Sequence[str], index: Path, pool: int) -> Iterator[Rows]:
    """Yield the rows of the first `pool` texts that BM25, in the folder `index`, finds for each question."""
    from contexture.retrieval.bm25 import Bm25  # training goes without

    bm25 = Bm25(index)
    for start in range(0, len(questions), SEARCH_BATCH):
        _, matches = bm25.search(list(questions[start : start + SEARCH_BATCH]), pool)
        yield from (rows[rows != NOTHING].astype(np.int32) for rows in matches)


def check_random_pool(right: Sequence[Sequence[int]], num_texts: int, pools: Pools) -> None:
    """Raise ValueError unless each pool holds all right texts of a question and the set fills the largest pool.

    `right`: rows of the right texts of each question; negative ones have no text.
    """
    if num_texts < pools.largest:
        raise ValueError(
            f"pool: {pools.largest:,} random candidates are more than the {num_texts:,} texts of the set; "
            f"set pool to {num_texts} or less"
        )
    needed = max((len({row for row in rows if row >= 0}) for rows in right), default=0)
    if needed > pools.smallest:
        raise ValueError(
            f"pool: a question has {needed} right texts, more than its {pools.smallest} candidates; "
            f"set pool to {needed} or more"
        )


def draw_candidates(
    question_ids: Sequence[str], right: Sequence[Sequence[int]], texts: Sequence[str], pools: Pools
) -> Iterator[Rows]:
    """Yield the rows of each question's right texts and of others drawn at random, `pools.largest` in total.

    The draw depends on the id of the question and on the set of texts, not on the order of questions or texts. Each
    pool is a prefix of the rows that holds all right texts. Within a prefix rows are in the order of their texts, so
    that the order does not tell which one is right.

    Args:
        question_ids: of all questions.
        right: rows of the right texts of each; negative ones have no text.
        texts: all texts of the set, by row.
        pools: number of candidates by protocol; see `check_random_pool`.
    """
    by_text = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int32)
    position = np.empty_like(by_text)
    position[by_text] = np.arange(len(texts))
    for question_id, right_rows in zip(question_ids, right, strict=True):
        rng = np.random.default_rng(int(stable_id(f"candidates/{question_id}"), 16))
        drawn = by_text[rng.choice(len(texts), pools.largest, replace=False)]
        known = np.array(sorted({row for row in right_rows if row >= 0}), np.int32)
        wrong = drawn[~np.isin(drawn, known)]
        first, end = pools.smallest - len(known), pools.largest - len(known)
        parts = (np.concatenate([known, wrong[:first]]), wrong[first:end])
        yield np.concatenate([rows[np.argsort(position[rows])] for rows in parts])
