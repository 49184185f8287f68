"""The nearest of some vectors in memory by cosine, all compared (FAISS)."""

import faiss
import numpy as np

from contexture.retrieval.top import Rows, Scores
from contexture.retrieval.vectors import Array


def nearest(candidates: Array, asked: Array, k: int) -> tuple[Scores, Rows]:
    """Cosines (Q, k) with the k nearest of the candidates (N, D), and their rows; exact."""
    # Copies, as FAISS scales what it is given.
    candidates, asked = (np.ascontiguousarray(vectors, np.float32).copy() for vectors in (candidates, asked))
    for vectors in (candidates, asked):
        faiss.normalize_L2(vectors)
    index = faiss.IndexFlatIP(candidates.shape[1])
    index.add(candidates)
    scores, rows = index.search(asked, k)
    return scores, rows
