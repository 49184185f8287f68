"""Hashes of runs of words, for texts that are compared by the runs that they share."""

import unicodedata
from collections.abc import Iterable
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from contexture.text.quality import normalized, tokens

Hashes = NDArray[np.uint64]
_MOST_WORDS = 1 << 20  # of the memory of word hashes


def words_alone(text: str) -> list[str]:
    """The normalized words of a text without punctuation; in scripts that put no spaces, single characters."""
    return " ".join(tokens(normalized(text))).translate(_BLANKS).split()


class WordRuns:
    """Hashes the runs of `length` words. The same for every process and machine."""

    def __init__(self, length: int, draw: np.random.Generator) -> None:
        """`draw` gives the factors: two instances agree where theirs began with the same seed."""
        self._factors = draw.integers(1, 1 << 63, length, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._words = _WordHashes()

    def __call__(self, texts: Iterable[list[str]]) -> tuple[Hashes, NDArray[np.int64]]:
        """64-bit hashes of all runs, text after text, and how many runs each has: words − length + 1, or none."""
        lists = [list(map(self._words.__getitem__, words)) for words in texts]
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        counts = np.maximum(lengths - (len(self._factors) - 1), 0)
        if not counts.any():
            return np.empty(0, np.uint64), counts
        words = np.fromiter(chain.from_iterable(lists), np.uint64, int(lengths.sum()))
        hashes = np.zeros(len(words), np.uint64)
        for place, factor in enumerate(self._factors):
            hashes[: len(words) - place] += words[place:] * factor
        # The runs that begin in the last words of a text would reach into the next.
        left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(words))
        return mixed(hashes[left >= len(self._factors)]), counts


class _WordHashes(dict[str, int]):
    """64-bit hashes of words, remembered: most words of a text are frequent ones."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_WORDS:
            self.clear()
        value = self[word] = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        return value


class _Blanks(dict[int, int]):
    """A table for `str.translate`: a space for all but letters, the marks on them, and digits."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        kept = character.isalnum() or unicodedata.category(character).startswith("M")
        value = self[code] = code if kept else ord(" ")
        return value


_BLANKS = _Blanks()


def mixed(values: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of a value (the finalizer of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
