"""Near duplicates of texts: Jaccard similarity of word shingles, and MinHash signatures in bands.

Broder 1997; banding as in Leskovec, Rajaraman & Ullman, "Mining of Massive Datasets", section 3.4. Two texts of
similarity s share all `rows` values of one of the `bands` with probability 1 - (1 - s**rows)**bands.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from contexture.text.quality import normalize_text, split_words

Hashes = NDArray[np.uint64]
_MAX_CACHED_WORDS = 1 << 20
SHINGLE_WORDS = 5
#: Probability that two texts with exactly the requested similarity become a candidate pair.
MIN_RECALL = 0.99
_MAX_VALUES = 64  # of a signature


def shingles(text: str) -> set[tuple[str, ...]]:
    """Return the set of runs of SHINGLE_WORDS normalized words; a single run if the text has fewer words."""
    words = split_words(normalize_text(text))
    if len(words) < SHINGLE_WORDS:
        return {tuple(words)} if words else set()
    return set(zip(*(words[i:] for i in range(SHINGLE_WORDS)), strict=False))


def jaccard(a: str, b: str) -> float:
    """Return the Jaccard similarity of two texts' shingles; 0 if both have none."""
    first, second = shingles(a), shingles(b)
    both = len(first & second)
    return both / max(1, len(first) + len(second) - both)


def choose_banding(similarity: float) -> tuple[int, int]:
    """Return the numbers of MinHash bands, and of rows per band, for pairs of at least this similarity.

    They detect such pairs with at least probability MIN_RECALL. Of those with at most 64 values, the choice with the
    longest bands: it compares the fewest dissimilar pairs.
    """
    choices: list[tuple[int, int]] = []
    for rows in range(1, _MAX_VALUES + 1):
        bands = math.ceil(math.log(1 - MIN_RECALL) / math.log1p(-(similarity**rows)))
        if bands * rows > _MAX_VALUES and choices:
            break
        choices.append((bands, rows))
    return choices[-1]


class BandHasher:
    """Hashes texts so that similar ones share a band. The hashes are the same in all processes and on all machines."""

    def __init__(self, similarity: float) -> None:
        self.bands, self.rows = choose_banding(similarity)
        rng = np.random.Generator(np.random.PCG64(0))
        values = self.bands * self.rows
        self._shingles = WordRunHasher(SHINGLE_WORDS, rng)
        self._flips = rng.integers(0, 1 << 63, values, dtype=np.uint64)
        self._factors = rng.integers(1, 1 << 63, values, dtype=np.uint64) | np.uint64(1)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return band keys of normalized texts, each with at least one word: shape (texts, bands)."""
        if not texts:
            return np.empty((0, self.bands), np.int64)
        # A text of fewer words is one shingle.
        hashes, counts = self._shingles(
            words + [""] * (SHINGLE_WORDS - len(words)) for words in map(split_words, texts)
        )
        starts = counts.cumsum() - counts
        keys = np.empty((len(texts), self.bands), np.uint64)
        for band in range(self.bands):
            key = np.full(len(texts), band + 1, np.uint64)
            for value in range(band * self.rows, (band + 1) * self.rows):
                smallest = np.minimum.reduceat((hashes ^ self._flips[value]) * self._factors[value], starts)
                key = mix_bits(key ^ smallest)
            keys[:, band] = key
        return keys.view(np.int64)


def split_bare_words(text: str) -> list[str]:
    """Return the normalized words of a text without punctuation; single characters in scripts without spaces."""
    return " ".join(split_words(normalize_text(text))).translate(_BLANKS).split()


class WordRunHasher:
    """Hashes runs of `length` words. The hashes are the same in all processes and on all machines."""

    def __init__(self, length: int, rng: np.random.Generator) -> None:
        """`rng` draws the factors: instances with the same seed give the same hashes."""
        self._factors = rng.integers(1, 1 << 63, length, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._words = _WordHashes()

    def __call__(self, texts: Iterable[list[str]]) -> tuple[Hashes, NDArray[np.int64]]:
        """Return the 64-bit hashes of all runs, text after text, and the number of runs of each text."""
        lists = [list(map(self._words.__getitem__, words)) for words in texts]
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        counts = np.maximum(lengths - (len(self._factors) - 1), 0)
        if not counts.any():
            return np.empty(0, np.uint64), counts
        words = np.fromiter(chain.from_iterable(lists), np.uint64, int(lengths.sum()))
        hashes = np.zeros(len(words), np.uint64)
        for offset, factor in enumerate(self._factors):
            hashes[: len(words) - offset] += words[offset:] * factor
        # Runs that begin in the last words of a text would extend into the next text.
        left = np.repeat(lengths.cumsum(), lengths) - np.arange(len(words))
        return mix_bits(hashes[left >= len(self._factors)]), counts


class _WordHashes(dict[str, int]):
    """Cache of 64-bit hashes of words."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        value = self[word] = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        return value


class _Blanks(dict[int, int]):
    """Table for `str.translate` that replaces all characters but letters, their marks and digits by spaces."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        kept = character.isalnum() or unicodedata.category(character).startswith("M")
        value = self[code] = code if kept else ord(" ")
        return value


_BLANKS = _Blanks()


def mix_bits(values: Hashes) -> Hashes:
    """Return values whose bits each depend on all bits of the input (the finalizer of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
