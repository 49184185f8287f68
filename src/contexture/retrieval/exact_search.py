"""Exact search for the largest inner products by NumPy alone, for a few queries; `search_index` is faster for many."""

import numpy as np

from contexture.retrieval.top import NOTHING, Rows, Scores, best
from contexture.retrieval.vectors import Array, Vectors

#: Vectors in memory at a time.
BLOCK = 32_768
# Numbers in the vectors that are gathered at a time to score them again.
_GATHERED = 2**21


def search_every(vectors: Vectors, queries: Array, k: int) -> tuple[Scores, Rows]:
    """The k best rows by the inner products with all vectors, right whatever the ties.

    Arguments, results and errors are those of `search_index.search_exact`.
    """
    queries = checked(vectors, queries, k)
    scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
    for start, block in vectors.blocks(BLOCK):
        pairs = [best(np.einsum("nd,d->n", block, query)[None], np.arange(len(block)), k) for query in queries]
        block_scores, block_rows = (np.concatenate(part) for part in zip(*pairs, strict=True))
        scores, rows = best(np.hstack([scores, block_scores]), np.hstack([rows, block_rows + start]), k)
    return scores, rows


def inner_products(vectors: Vectors, queries: Array, rows: Rows) -> Scores:
    """Inner products [Q, n] of each query with its rows; −inf for row −1.

    Not by matrix multiplication: how that rounds depends on the position of a vector in the matrix.
    """
    scores = np.full(rows.shape, -np.inf, np.float32)
    line, column = np.nonzero(rows != NOTHING)
    step = max(1, _GATHERED // vectors.dimension)
    for start in range(0, len(line), step):
        pairs = line[start : start + step], column[start : start + step]
        scores[pairs] = np.einsum("nd,nd->n", vectors.take(rows[pairs]), queries[pairs[0]])
    return scores


def checked(vectors: Vectors, queries: Array, k: int) -> Array:
    """The queries as float32; ValueError for queries that cannot be searched for."""
    queries = np.ascontiguousarray(queries, np.float32)
    if queries.ndim != 2 or queries.shape[1] != vectors.dimension:
        raise ValueError(
            f"queries of the shape {queries.shape} cannot be compared with {vectors.folder}, whose vectors have "
            f"{vectors.dimension} numbers: embed them with the encoder that the candidates were embedded with"
        )
    if not np.isfinite(queries).all():
        raise ValueError("the vector of a query is not finite (did the training diverge?)")
    if k < 1:
        raise ValueError(f"cannot find the {k} best candidates")
    return queries
