"""The nearest sentences of a pool, by cosine (Quick-Thoughts paper, section 4.4.4 and Table 5).

The pool, a million sentences or more, is read once, block by block: no more than one block of its vectors is in memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import faiss
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contexture.retrieval.top import Rows, Scores, best
from contexture.retrieval.vectors import unit
from contexture.tasks.sentences.vectors import Lookup

Array = NDArray[np.float32]
#: Some sentences and their vectors (n, D).
Block = tuple[Sequence[str], Array]

#: Sentences of a block: at 2,400 numbers each, 150 MB.
BLOCK = 16_384
#: Cosines that are nearer to one another than this are equal but for the rounding of float32.
ROUNDING = 1e-6


def embedded(sentences: Iterable[str], vectors: Lookup) -> Iterator[Block]:
    """A pool of sentences with their vectors, a block at a time."""
    remaining = iter(sentences)
    while block := list(islice(remaining, BLOCK)):
        yield block, vectors(block)


def nearest_neighbours(queries: Sequence[str], vectors: Array, pool: Iterable[Block], k: int = 1) -> pd.DataFrame:
    """Find the sentences of a pool that are nearest to each query.

    A sentence that occurs again in the pool counts once, and a query's own text is never its neighbour; texts that
    differ in white space alone are the same.

    Args:
        queries: Q sentences.
        vectors: (Q, D), theirs.
        pool: such as `embedded` gives; read once.
        k: how many neighbours of each query.

    Returns:
        Columns query, rank (from 1), neighbour, cosine (−1 … 1; 0 for a vector of zeros), queries in the order given,
        each with its k nearest, best first; of equal cosines the sentence that comes first in the pool.

    Raises:
        ValueError: for vectors that do not fit their sentences or one another, or are not finite.
    """
    if len(queries) != len(vectors):
        raise ValueError(f"{len(queries)} queries, but {len(vectors)} vectors: give one for each")
    scores, rows, texts = search_pool(vectors, pool, k + 1)
    found = [
        {"query": query, "rank": rank, "neighbour": text, "cosine": score}
        for query, line, places in zip(queries, scores, rows, strict=True)
        for rank, (score, text) in enumerate(_others(query, line, places, texts)[:k], start=1)
    ]
    return pd.DataFrame(found, columns=["query", "rank", "neighbour", "cosine"])


def search_pool(queries: Array, pool: Iterable[Block], k: int) -> tuple[Scores, Rows, list[str]]:
    """Find the k distinct sentences of a pool with the highest cosines.

    Args:
        queries: (Q, D).
        pool: read once.
        k: how many to find.

    Returns:
        Cosines and places (Q, at most k), best first, and the pool's distinct sentences, to which the places refer.

    Raises:
        ValueError: as `nearest_neighbours`.
    """
    queries = _unit(queries, "the queries")
    texts: dict[str, str] = {}
    scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    for sentences, vectors in pool:
        start = len(texts)
        new = _new(sentences, vectors, texts)
        if not new:
            continue
        block = _unit(vectors[new], f"the pool, from its sentence {sentences[new[0]]!r}")
        if block.shape[1] != queries.shape[1]:
            raise ValueError(f"the pool's vectors have {block.shape[1]} numbers, the queries' {queries.shape[1]}")
        cosines, places = _knn(queries, block, min(k, len(block)))
        scores, rows = best(np.hstack([scores, cosines]), np.hstack([rows, places + start]), k)
    return scores, rows, list(texts.values())


def same_text(text: str) -> str:
    """What two texts share if they differ in white space alone."""
    return " ".join(text.split())


def _unit(vectors: Array, whose: str) -> Array:
    vectors = np.ascontiguousarray(vectors, np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError(f"vectors of {whose}: not finite (did the training diverge?)")
    return unit(vectors)


def _new(sentences: Sequence[str], vectors: Array, texts: dict[str, str]) -> list[int]:
    """Places of the sentences that were not there before; they are added to `texts`."""
    if len(sentences) != len(vectors):
        raise ValueError(f"the pool: {len(sentences)} sentences with {len(vectors)} vectors: give one for each")
    new = []
    for place, sentence in enumerate(sentences):
        key = same_text(sentence)
        if key not in texts:
            texts[key] = sentence
            new.append(place)
    return new


def _knn(queries: Array, block: Array, k: int) -> tuple[Scores, Rows]:
    cosines, places = faiss.knn(queries, block, k, metric=faiss.METRIC_INNER_PRODUCT)
    return cosines, places


def _others(query: str, scores: Scores, rows: Rows, texts: list[str]) -> list[tuple[float, str]]:
    found = [(float(score), texts[row]) for score, row in zip(scores, rows, strict=True)]
    return [(score, text) for score, text in found if same_text(text) != same_text(query)]
