"""Nearest sentences of a pool by cosine (Quick-Thoughts, section 4.4.4 and Table 5).

The pool, a million sentences or more, is read once, one block of vectors at a time.
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

#: Sentences per block; 150 MB with 2,400 dimensions.
BLOCK_SENTENCES = 16_384


def embed_blocks(sentences: Iterable[str], vectors: Lookup) -> Iterator[Block]:
    """Yield blocks of a pool: some of its sentences and their vectors."""
    remaining = iter(sentences)
    while block := list(islice(remaining, BLOCK_SENTENCES)):
        yield block, vectors(block)


def nearest_neighbours(queries: Sequence[str], vectors: Array, pool: Iterable[Block], k: int = 1) -> pd.DataFrame:
    """Return a table of the k sentences of a pool, given as by `embed_blocks`, that are nearest to each query.

    Repeated sentences count once, and a query is not its own neighbour; texts that differ only in white space are
    equal. `vectors` (Q, D) are those of the queries.

    Returns:
        Columns query, neighbour, cosine (−1 … 1; 0 for a zero vector). Each query has k rows, best first; ties are in
        the order of the pool.
    """
    scores, rows, texts = search_pool(vectors, pool, k + 1)
    table: list[tuple[str, str, float]] = []
    for query, query_scores, query_rows in zip(queries, scores.tolist(), rows, strict=True):
        pairs = [(query, texts[row], score) for row, score in zip(query_rows, query_scores, strict=True)]
        table += [pair for pair in pairs if normalise_space(pair[1]) != normalise_space(query)][:k]
    return pd.DataFrame(table, columns=["query", "neighbour", "cosine"])


def search_pool(queries: Array, pool: Iterable[Block], k: int) -> tuple[Scores, Rows, list[str]]:
    """Return cosines and rows (Q, at most k) of the pool sentences nearest to the queries (Q, D), best first.

    Also returns the distinct sentences of the pool, which the rows refer to. The pool is read once.
    """
    queries = normalize(np.ascontiguousarray(queries, np.float32))
    texts: dict[str, str] = {}
    scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    for sentences, vectors in pool:
        start, new = len(texts), []
        for row, sentence in enumerate(sentences):
            key = normalise_space(sentence)
            if key not in texts:
                texts[key] = sentence
                new.append(row)
        if new:
            block = normalize(np.ascontiguousarray(vectors[new], np.float32))
            cosines, block_rows = faiss.knn(queries, block, min(k, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
            scores, rows = select_best(np.hstack([scores, cosines]), np.hstack([rows, block_rows + start]), k)
    return scores, rows, list(texts.values())


def normalise_space(text: str) -> str:
    """Return the text with single spaces between words."""
    return " ".join(text.split())
