"""Words without punctuation, and hashes of their runs against the runs themselves."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from contexture.text.minhash import WordRuns, words_alone


def runs_of(length: int) -> WordRuns:
    return WordRuns(length, np.random.Generator(np.random.PCG64(0)))


def test_words_alone() -> None:
    assert words_alone("“The OLD mill-wheel” (1,024 × ﬁne), isn’t it?") == [
        "the", "old", "mill", "wheel", "1", "024", "fine", "isn", "t", "it"
    ]  # fmt: skip
    assert words_alone("हिन्दी, भाषा।") == ["हिन्दी", "भाषा"]  # marks belong to the letters
    assert words_alone("海は広い、とても。" * 5) == list("海は広いとても" * 5)
    assert words_alone(" – ") == []


TEXTS = st.lists(st.lists(st.sampled_from("abc"), max_size=9), max_size=5)


@given(TEXTS, TEXTS)
def test_hashes_are_equal_where_runs_are(first: list[list[str]], second: list[list[str]]) -> None:
    find, found, runs = runs_of(3), [], []
    for texts in (first, second):
        hashes, counts = find(texts)
        of_each = [[tuple(words[i : i + 3]) for i in range(len(words) - 2)] for words in texts]
        assert counts.tolist() == [len(one) for one in of_each]
        runs += [run for one in of_each for run in one]
        found += hashes.tolist()
    assert len(found) == len(runs)
    assert len({*zip(found, runs, strict=True)}) == len({*found}) == len({*runs})
