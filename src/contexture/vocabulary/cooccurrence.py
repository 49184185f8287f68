"""Word vectors from a corpus's co-occurrences, for vocabularies without a file of vectors.

Counts in a window, positive pointwise mutual information, singular value decomposition: as good as word2vec on texts of
this size, with the settings that Levy, Goldberg and Dagan (2015, "Improving Distributional Similarity with Lessons
Learned from Word Embeddings") recommend.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

Ids = NDArray[np.integer]

#: Number of words on each side that are context.
WINDOW = 5
#: Exponent of context frequencies, against too large values for rare contexts.
SMOOTHING = 0.75
# Extra vectors and iterations of the search for singular vectors (Halko et al., 2011).
_EXTRA_VECTORS, _NUM_ITERATIONS = 20, 6
# Minimum number of tokens that are counted at a time.
_BLOCK_TOKENS = 1 << 20


def corpus_vectors(blocks: Iterable[tuple[Ids, Ids]], words: int, size: int, seed: int = 0) -> NDArray[np.float32]:
    """Return word vectors (V, min(W, V)) from co-occurrences in a corpus; zeros for words without co-occurrences.

    They are U·Σ^½ of the matrix of positive pointwise mutual information.

    A function of the text and the seed; blocks may split it between any sentences. Raises ValueError if no sentence has
    two words.

    Args:
        blocks: word ids of consecutive sentences, and the sentences' lengths.
        words: V, greater than all ids.
        size: W, length of the vectors.
        seed: of the search for singular vectors.
    """
    counts = window_counts(blocks, words)
    if not counts.nnz:
        raise ValueError("no sentence of the corpus has two words, so there are no word vectors; add text")
    with threadpool_limits(1):  # the same result on any number of cores
        return _factorize(positive_pmi(counts), min(size, words), seed)


def window_counts(blocks: Iterable[tuple[Ids, Ids]], words: int) -> sparse.csr_array:
    """Return how often two words are at most `WINDOW` words apart in a sentence: int64 (V, V), symmetric."""
    after = sparse.csr_array((words, words), dtype=np.int64)
    for ids, lengths in _merge_blocks(blocks):
        sentence = np.repeat(np.arange(len(lengths)), lengths)
        distances = range(1, WINDOW + 1)
        pairs = [np.stack([ids[:-d], ids[d:]])[:, sentence[d:] == sentence[:-d]] for d in distances]
        left, right = np.concatenate(pairs, axis=1).astype(np.int32)
        after += sparse.coo_array((np.ones(len(left), np.int64), (left, right)), shape=(words, words)).tocsr()
    return (after + after.T).tocsr()


def positive_pmi(counts: sparse.csr_array) -> sparse.csr_array:
    """Return positive pointwise mutual information (V, V) of co-occurrence counts (V, V).

    That is max(0, log P(w, c) / (P(w) P(c))); P(c) is smoothed by the exponent `SMOOTHING`.
    """
    counts = counts.tocsr()
    word_counts = np.asarray(counts.sum(axis=1), np.float64)
    context = np.asarray(counts.sum(axis=0), np.float64) ** SMOOTHING
    expected = np.repeat(word_counts, np.diff(counts.indptr)) * (context / context.sum())[counts.indices]
    values = np.maximum(np.log(counts.data / expected), 0).astype(np.float32)
    pmi = sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    pmi.eliminate_zeros()
    return pmi


def _merge_blocks(blocks: Iterable[tuple[Ids, Ids]]) -> Iterator[tuple[Ids, Ids]]:
    """Merge blocks of sentences into larger ones, so that fewer large matrices are added."""
    ids: list[Ids] = []
    lengths: list[Ids] = []
    for block in blocks:
        ids.append(block[0])
        lengths.append(block[1])
        if sum(map(len, ids)) >= _BLOCK_TOKENS:
            yield np.concatenate(ids), np.concatenate(lengths)
            ids, lengths = [], []
    if ids:
        yield np.concatenate(ids), np.concatenate(lengths)


def _factorize(matrix: sparse.csr_array, size: int, seed: int) -> NDArray[np.float32]:
    """Return U·Σ^½ of the `size` largest singular values of a matrix.

    By randomized subspace iteration (Halko et al., 2011).
    """
    width = min(size + _EXTRA_VECTORS, matrix.shape[0])
    rows, columns = matrix, matrix.T.tocsr()
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], width)).astype(np.float32)
    for _ in range(_NUM_ITERATIONS):
        basis = _orthonormalize_columns(columns @ _orthonormalize_columns(rows @ basis))
    left, values, _ = linalg.svd(rows @ basis, full_matrices=False, overwrite_a=True)
    # Otherwise the signs of singular vectors depend on the processor.
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(width)])
    vectors = (left * signs * np.sqrt(values))[:, :size]
    # Exact zeros for words without co-occurrences, instead of rounding errors.
    vectors[np.diff(matrix.indptr) == 0] = 0
    return np.ascontiguousarray(vectors, np.float32)


def _orthonormalize_columns(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return an orthonormal basis of the columns' span."""
    basis: NDArray[np.float32] = linalg.qr(vectors, mode="economic", overwrite_a=True)[0]
    return basis
