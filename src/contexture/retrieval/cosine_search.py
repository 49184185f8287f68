"""Nearest neighbours by cosine among vectors in memory, by exact search (FAISS)."""

import faiss
import numpy as np

from contexture.retrieval.top import Rows, Scores
from contexture.retrieval.vectors import Array


def nearest(candidates: Array, queries: Array, k: int) -> tuple[Scores, Rows]:
    """Cosines (Q, k) with the k nearest of the candidates (N, D), and their rows."""
    # Copies, as FAISS scales in place.
    candidates, queries = (np.ascontiguousarray(vectors, np.float32).copy() for vectors in (candidates, queries))
    for vectors in (candidates, queries):
        faiss.normalize_L2(vectors)
    index = faiss.IndexFlatIP(candidates.shape[1])
    index.add(candidates)
    scores, rows = index.search(queries, k)
    return scores, rows
