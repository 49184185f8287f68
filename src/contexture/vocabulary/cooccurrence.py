"""Word vectors from a text's own co-occurrences, for whoever has no file of vectors.

Counts within a window, positive pointwise mutual information, singular value decomposition: as good as word2vec on
texts of this size (Levy, Goldberg and Dagan, 2015, "Improving Distributional Similarity with Lessons Learned from Word
Embeddings", whose recommended settings are used).
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

Ids = NDArray[np.integer]

#: Words to each side that count as context.
WINDOW = 5
#: Exponent of the contexts' frequencies: else rare contexts get too much.
SMOOTHING = 0.75
# Vectors beyond those asked for and rounds of the search for singular vectors (Halko et al., 2011).
_MORE, _ROUNDS = 20, 6
# Tokens that are counted at a time.
_TOKENS = 1 << 20


def corpus_vectors(blocks: Iterable[tuple[Ids, Ids]], words: int, size: int, seed: int = 0) -> NDArray[np.float32]:
    """Vectors of words from the company they keep.

    A function of the text and the seed: blocks may be cut anywhere between sentences.

    Args:
        blocks: ids of the words of some sentences, one after the other, and the sentences' lengths.
        words: V, above all ids.
        size: W, length of the vectors.
        seed: of the search for singular vectors.

    Returns:
        (V, min(W, V)), U·Σ^½; zeros for a word that never occurs beside another.

    Raises:
        ValueError: for ids outside 0 … V−1, lengths that do not add up to the ids, or a text without two words in
            one sentence.
    """
    counts = window_counts(blocks, words)
    if not counts.nnz:
        raise ValueError("no sentence of the corpus has two words: there is nothing to make word vectors of")
    with threadpool_limits(1):  # the same bits on any number of cores
        return _factors(positive_pmi(counts), min(size, words), seed)


def window_counts(blocks: Iterable[tuple[Ids, Ids]], words: int) -> sparse.csr_array:
    """How often two words stand at most `WINDOW` words apart in one sentence: int64 (V, V), symmetric."""
    after = sparse.csr_array((words, words), dtype=np.int64)
    for ids, lengths in _gathered(blocks):
        _check(ids, lengths, words)
        after += _following(ids.astype(np.int32), lengths, words)
    return (after + after.T).tocsr()


def positive_pmi(counts: sparse.csr_array) -> sparse.csr_array:
    """max(0, log P(w, c) / (P(w) P(c))) of counts (V, V), where P(c) goes with the contexts' count ^ `SMOOTHING`."""
    counts = counts.tocsr()
    of_word = np.asarray(counts.sum(axis=1), np.float64)
    context = np.asarray(counts.sum(axis=0), np.float64) ** SMOOTHING
    expected = np.repeat(of_word, np.diff(counts.indptr)) * (context / context.sum())[counts.indices]
    values = np.maximum(np.log(counts.data / expected), 0).astype(np.float32)
    found = sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    found.eliminate_zeros()
    return found


def _gathered(blocks: Iterable[tuple[Ids, Ids]]) -> Iterator[tuple[Ids, Ids]]:
    """The same sentences in larger blocks: few additions of large matrices."""
    ids: list[Ids] = []
    lengths: list[Ids] = []
    for block in blocks:
        ids.append(block[0])
        lengths.append(block[1])
        if sum(map(len, ids)) >= _TOKENS:
            yield np.concatenate(ids), np.concatenate(lengths)
            ids, lengths = [], []
    if ids:
        yield np.concatenate(ids), np.concatenate(lengths)


def _check(ids: Ids, lengths: Ids, words: int) -> None:
    if lengths.sum() != len(ids):
        raise ValueError(f"the sentences' lengths add up to {lengths.sum()}, but there are {len(ids)} words")
    if len(ids) and (ids.min() < 0 or ids.max() >= words):
        raise ValueError(f"the ids of words run from {ids.min()} to {ids.max()}, but there are {words} words")


def _following(ids: NDArray[np.int32], lengths: Ids, words: int) -> sparse.csr_array:
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    pairs = []
    for distance in range(1, WINDOW + 1):
        together = sentence[distance:] == sentence[:-distance]
        pairs.append((ids[:-distance][together], ids[distance:][together]))
    left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return sparse.coo_array((np.ones(len(left), np.int64), (left, right)), shape=(words, words)).tocsr()


def _factors(matrix: sparse.csr_array, size: int, seed: int) -> NDArray[np.float32]:
    """U·Σ^½ of the `size` largest singular values, by subspace iteration from random vectors (Halko et al., 2011)."""
    width = min(size + _MORE, matrix.shape[0])
    rows, columns = matrix, matrix.T.tocsr()
    basis = np.random.default_rng(seed).standard_normal((matrix.shape[1], width)).astype(np.float32)
    for _ in range(_ROUNDS):
        basis = _orthonormal(columns @ _orthonormal(rows @ basis))
    left, values, _ = linalg.svd(rows @ basis, full_matrices=False, overwrite_a=True)
    vectors = left[:, :size] * np.sqrt(values[:size])
    # A word without company gets exact zeros, not what rounding leaves.
    vectors[np.diff(matrix.indptr) == 0] = 0
    return np.ascontiguousarray(vectors, np.float32)


def _orthonormal(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = linalg.qr(vectors, mode="economic", overwrite_a=True)[0]
    return found
