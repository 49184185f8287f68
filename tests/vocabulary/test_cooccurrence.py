import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from contexture.vocabulary import cooccurrence
from contexture.vocabulary.cooccurrence import corpus_vectors, positive_pmi, window_counts

Block = tuple[np.ndarray, np.ndarray]


def make_block(*sentences: list[int]) -> Block:
    return np.array([i for s in sentences for i in s], np.int32), np.array([len(s) for s in sentences])


def random_text(seed: int, words: int, sentences: int = 60) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, words, rng.integers(1, 14)).tolist() for _ in range(sentences)]


def test_counts_by_hand() -> None:
    # 0 1 0: 0–1 twice, 0–0 once, which counts in both directions.
    counts = window_counts([make_block([0, 1, 0], [2], [], [3, 2])], 4)
    assert counts.toarray().tolist() == [[2, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]


@pytest.mark.parametrize("tokens", [1, 50, 1 << 20])
def test_counts_are_those_of_a_slow_loop_for_any_blocks(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "_BLOCK_TOKENS", tokens)
    text = random_text(0, 9)
    expected: Counter[tuple[int, int]] = Counter()
    for sentence in text:
        for i, word in enumerate(sentence):
            for j, other in enumerate(sentence):
                expected[word, other] += 0 < abs(i - j) <= 5
    counts = window_counts([make_block(*text[start : start + 7]) for start in range(0, len(text), 7)], 9)
    assert counts.toarray().tolist() == [[expected[i, j] for j in range(9)] for i in range(9)]


def test_positive_pmi_by_hand() -> None:
    pmi = positive_pmi(sparse.csr_array([[0, 3], [3, 1]])).toarray()
    # Rows sum to 3 and 4, contexts to 3^¾ and 4^¾; the logarithm of 1 · smooth / (4 · 4^¾) is negative.
    smooth = 3**0.75 + 4**0.75
    expected = [0, math.log(3 * smooth / (3 * 4**0.75)), math.log(3 * smooth / (4 * 3**0.75)), 0]
    assert pmi.ravel().tolist() == pytest.approx(expected, rel=1e-6)


def test_vectors_are_the_singular_vectors_of_positive_pmi() -> None:
    text = random_text(1, 90, sentences=400)
    matrix = positive_pmi(window_counts([make_block(*text)], 90)).toarray().astype(np.float64)
    left, values, _ = np.linalg.svd(matrix)
    expected = left[:, :75] * np.sqrt(values[:75])
    vectors = corpus_vectors([make_block(*text)], 90, 75)
    assert vectors.dtype == np.float32
    signs = np.sign(expected[np.abs(expected).argmax(axis=0), np.arange(75)])  # the largest number of each is positive
    assert vectors == pytest.approx(expected * signs, abs=2e-3)


def test_vectors_of_a_large_vocabulary_explain_nearly_as_much_as_the_best() -> None:
    # Words of 10 topics, so that the first singular values are large, as in real texts.
    rng = np.random.default_rng(3)
    text = [(rng.integers(0, 30, 9) + 30 * rng.integers(0, 10)).tolist() for _ in range(800)]
    matrix = positive_pmi(window_counts([make_block(*text)], 300)).toarray().astype(np.float64)
    best = np.linalg.svd(matrix, compute_uv=False)[:20]
    vectors = corpus_vectors([make_block(*text)], 300, 20)
    assert (vectors**2).sum(axis=0) == pytest.approx(best, rel=0.02)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    topic = np.arange(300) // 30
    nearest = np.argmax(unit @ unit.T - 2 * np.eye(300), axis=1)
    assert (topic[nearest] == topic).mean() > 0.98


def test_small_vocabularies_and_words_without_cooccurrences() -> None:
    text = [[word + 3 for word in sentence] for sentence in random_text(4, 30)]
    vectors = corpus_vectors([make_block(*text, [2])], 33, 300)
    assert vectors.shape == (33, 33)
    assert vectors.any(axis=1).tolist() == [False] * 3 + [True] * 30


def test_vectors_are_a_function_of_text_and_seed() -> None:
    text = random_text(2, 80, sentences=300)
    first = corpus_vectors([make_block(*text)], 80, 10, seed=1)
    assert np.array_equal(first, corpus_vectors([make_block(*text[:100]), make_block(*text[100:])], 80, 10, seed=1))
    assert not np.array_equal(first, corpus_vectors([make_block(*text)], 80, 10, seed=2))


def test_a_text_of_single_words_has_no_vectors() -> None:
    with pytest.raises(ValueError, match="no sentence of the corpus has two words"):
        corpus_vectors([make_block([0], [1])], 5, 2)
