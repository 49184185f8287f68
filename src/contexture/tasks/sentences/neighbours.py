"""The nearest sentences of a pool, by cosine (Quick-Thoughts paper, section 4.4.4 and Table 5).

The pool, a million sentences or more, is read once, block by block: no more than one block of its vectors is in memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import faiss
import numpy as np
import pandas as pd

from contexture.retrieval.top import Rows, Scores, select_best
from contexture.retrieval.vectors import normalize
from contexture.tasks.sentences.vectors import Array, Lookup

#: Sentences and their vectors (n, D).
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
    """Find the k sentences of a pool, as `embedded` gives it, that are nearest to each query.

    A sentence that occurs again in the pool counts once, and a query's own text is never its neighbour; texts that
    differ in white space alone are the same. `vectors` (Q, D) are the queries', finite.

    Returns:
        Columns query, neighbour, cosine (−1 … 1; 0 for a vector of zeros), queries in the order given, each with its k
        nearest, best first; of equal cosines the sentence that comes first in the pool.
    """
    scores, rows, texts = search_pool(vectors, pool, k + 1)
    table: list[tuple[str, str, float]] = []
    for query, query_scores, query_rows in zip(queries, scores.tolist(), rows, strict=True):
        pairs = [(query, texts[row], score) for row, score in zip(query_rows, query_scores, strict=True)]
        table += [pair for pair in pairs if same_text(pair[1]) != same_text(query)][:k]
    return pd.DataFrame(table, columns=["query", "neighbour", "cosine"])


def search_pool(queries: Array, pool: Iterable[Block], k: int) -> tuple[Scores, Rows, list[str]]:
    """Find the k distinct sentences of a pool with the highest cosines with each query (Q, D); the pool is read once.

    Returns cosines and row numbers (Q, at most k), best first, and the pool's distinct sentences, which the rows refer
    to.
    """
    queries = normalize(np.ascontiguousarray(queries, np.float32))
    texts: dict[str, str] = {}
    scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    for sentences, vectors in pool:
        start, new = len(texts), []
        for row, sentence in enumerate(sentences):
            key = same_text(sentence)
            if key not in texts:
                texts[key] = sentence
                new.append(row)
        if new:
            block = normalize(np.ascontiguousarray(vectors[new], np.float32))
            cosines, block_rows = faiss.knn(queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
            scores, rows = select_best(np.hstack([scores, cosines]), np.hstack([rows, block_rows + start]), k)
    return scores, rows, list(texts.values())


def same_text(text: str) -> str:
    """What two texts share if they differ in white space alone."""
    return " ".join(text.split())
