"""Shingles, their similarity, bands and hashes."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.text.minhash import (
    MIN_RECALL,
    BandHasher,
    WordRunHasher,
    choose_banding,
    jaccard,
    shingles,
    split_bare_words,
)
from contexture.text.quality import normalize_text

SENTENCE = "the old ferry to the far island leaves at seven"


def test_shingles() -> None:
    assert shingles("One two  THREE four five six") == {
        ("one", "two", "three", "four", "five"),
        ("two", "three", "four", "five", "six"),
    }
    assert shingles("One two") == {("one", "two")}
    assert shingles(" ") == set()


def test_jaccard() -> None:
    assert jaccard("a b c d e f", "a b c d e g") == 1 / 3
    assert jaccard(SENTENCE, SENTENCE.upper()) == 1
    assert jaccard("", "") == 0
    assert jaccard("a", "b") == 0


@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.7, 0.8, 0.9, 0.99])
def test_banding_reaches_the_recall(similarity: float) -> None:
    bands, rows = choose_banding(similarity)
    assert 1 - (1 - similarity**rows) ** bands >= MIN_RECALL
    assert bands * rows <= 64 or rows == 1


def test_bands_are_the_same_everywhere() -> None:
    assert BandHasher(0.8)([SENTENCE])[0, :2].tolist() == [-6424355936405174944, -8321333892811842748]


@given(st.lists(st.text("ab c", min_size=1).map(normalize_text).filter(bool), min_size=1, max_size=9))
def test_bands_do_not_depend_on_the_batch(texts: list[str]) -> None:
    bands = BandHasher(0.7)
    together = bands(texts)
    assert together.shape == (len(texts), bands.bands)
    assert np.array_equal(together, np.concatenate([bands([text]) for text in texts]))
    for i, first in enumerate(texts):
        for j, second in enumerate(texts):
            if shingles(first) == shingles(second):
                assert np.array_equal(together[i], together[j])


def make_hasher(length: int) -> WordRunHasher:
    return WordRunHasher(length, np.random.Generator(np.random.PCG64(0)))


def test_words_alone() -> None:
    assert split_bare_words("“The OLD mill-wheel” (1,024 × ﬁne), isn’t it?") == [
        "the", "old", "mill", "wheel", "1", "024", "fine", "isn", "t", "it"
    ]  # fmt: skip
    assert split_bare_words("हिन्दी, भाषा।") == ["हिन्दी", "भाषा"]  # marks belong to the letters
    assert split_bare_words("海は広い、とても。" * 5) == list("海は広いとても" * 5)
    assert split_bare_words(" – ") == []


TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=9), max_size=5)


@given(TEXTS, TEXTS)
def test_hashes_are_equal_where_runs_are(first: list[list[str]], second: list[list[str]]) -> None:
    hash_runs, hashes, runs = make_hasher(3), [], []
    for texts in (first, second):
        new, counts = hash_runs(texts)
        runs_by_text = [[tuple(words[i : i + 3]) for i in range(len(words) - 2)] for words in texts]
        assert counts.tolist() == [len(text_runs) for text_runs in runs_by_text]
        runs += chain.from_iterable(runs_by_text)
        hashes += new.tolist()
    assert len(hashes) == len(runs)
    assert len({*zip(hashes, runs, strict=True)}) == len({*hashes}) == len({*runs})
