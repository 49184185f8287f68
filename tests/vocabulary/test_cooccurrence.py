import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

from contexture.vocabulary import cooccurrence
from contexture.vocabulary.cooccurrence import corpus_vectors, positive_pmi, window_counts

Block = tuple[np.ndarray, np.ndarray]


def block(*sentences: list[int]) -> Block:
    return np.array([i for s in sentences for i in s], np.int32), np.array([len(s) for s in sentences])


def random_text(seed: int, words: int, sentences: int = 60) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, words, rng.integers(1, 14)).tolist() for _ in range(sentences)]


def test_counts_by_hand() -> None:
    # 0 1 0: 0–1 twice, 0–0 once, which counts for both of its ends; the other sentences stand for themselves.
    found = window_counts([block([0, 1, 0], [2], [], [3, 2])], 4).toarray()
    assert found.tolist() == [[2, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]


@pytest.mark.parametrize("tokens", [1, 50, 1 << 20])
def test_counts_are_those_of_a_slow_loop_however_the_text_is_cut(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "_TOKENS", tokens)
    text = random_text(0, 9)
    expected: Counter[tuple[int, int]] = Counter()
    for sentence in text:
        for i, word in enumerate(sentence):
            for j, other in enumerate(sentence):
                expected[word, other] += 0 < abs(i - j) <= 5
    found = window_counts([block(*text[start : start + 7]) for start in range(0, len(text), 7)], 9)
    assert found.toarray().tolist() == [[expected[i, j] for j in range(9)] for i in range(9)]


def test_positive_pmi_by_hand() -> None:
    found = positive_pmi(sparse.csr_array([[0, 3], [3, 1]])).toarray()
    # Rows sum to 3 and 4, contexts to 3^¾ and 4^¾.
    smooth = 3**0.75 + 4**0.75
    assert found[0, 1] == pytest.approx(math.log(3 * smooth / (3 * 4**0.75)), rel=1e-6)
    assert found[1, 0] == pytest.approx(math.log(3 * smooth / (4 * 3**0.75)), rel=1e-6)
    assert found[0, 0] == 0
    assert math.log(1 * smooth / (4 * 4**0.75)) < 0
    assert found[1, 1] == 0


def test_vectors_are_the_singular_vectors_of_positive_pmi() -> None:
    text = random_text(1, 90, sentences=400)
    matrix = positive_pmi(window_counts([block(*text)], 90)).toarray().astype(np.float64)
    left, values, _ = np.linalg.svd(matrix)
    expected = left[:, :75] * np.sqrt(values[:75])
    found = corpus_vectors([block(*text)], 90, 75)
    assert found.dtype == np.float32
    signs = np.sign((found * expected).sum(axis=0))
    assert found == pytest.approx(expected * signs, abs=2e-3)


def test_vectors_of_a_large_vocabulary_explain_nearly_as_much_as_the_best(seed: int = 3) -> None:
    # Words of a topic, 10 topics: the first singular values stand out as they do in texts.
    rng = np.random.default_rng(seed)
    text = [(rng.integers(0, 30, 9) + 30 * rng.integers(0, 10)).tolist() for _ in range(800)]
    matrix = positive_pmi(window_counts([block(*text)], 300)).toarray().astype(np.float64)
    best = np.linalg.svd(matrix, compute_uv=False)[:20]
    found = corpus_vectors([block(*text)], 300, 20)
    assert (found**2).sum(axis=0) == pytest.approx(best, rel=0.02)
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    topic = np.arange(300) // 30
    nearest = np.argmax(unit @ unit.T - 2 * np.eye(300), axis=1)
    assert (topic[nearest] == topic).mean() > 0.98


def test_fewer_words_than_numbers_and_words_alone() -> None:
    text = [[word + 3 for word in sentence] for sentence in random_text(4, 30)]
    found = corpus_vectors([block(*text, [2])], 33, 300)
    assert found.shape == (33, 33)
    assert not found[:3].any()
    assert found[3:].any(axis=1).all()


def test_a_function_of_text_and_seed() -> None:
    text = random_text(2, 80, sentences=300)
    first = corpus_vectors([block(*text)], 80, 10, seed=1)
    assert np.array_equal(first, corpus_vectors([block(*text[:100]), block(*text[100:])], 80, 10, seed=1))
    assert not np.array_equal(first, corpus_vectors([block(*text)], 80, 10, seed=2))


def test_what_cannot_be_counted() -> None:
    for bad, message in (
        ((np.array([0, 5]), np.array([2])), "from 0 to 5, but there are 5 words"),
        ((np.array([-1, 2]), np.array([2])), "from -1 to 2"),
        ((np.array([0, 1]), np.array([3])), "add up to 3, but there are 2 words"),
        ((np.array([0, 1]), np.array([1, 1])), "no sentence of the corpus has two words"),
    ):
        with pytest.raises(ValueError, match=message):
            corpus_vectors([bad], 5, 2)
