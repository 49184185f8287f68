"""Near duplicates of texts: word shingles, their Jaccard similarity, and MinHash signatures cut into bands.

Broder 1997; banding as in Leskovec, Rajaraman & Ullman, "Mining of Massive Datasets", section 3.4. Two texts of
similarity s share all `rows` values of one of the `bands` with probability 1 - (1 - s**rows)**bands.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from contexture.text.quality import normalized, tokens
from contexture.text.word_runs import WordRuns, mixed

#: Words of a shingle.
SHINGLE = 5
#: Least probability that two texts of just the similarity asked for become a candidate pair.
RECALL = 0.99
_MOST_VALUES = 64  # of a signature


def shingles(text: str) -> set[tuple[str, ...]]:
    """The runs of SHINGLE words of a text, normalized; one of all its words where it has fewer."""
    words = tokens(normalized(text))
    if len(words) < SHINGLE:
        return {tuple(words)} if words else set()
    return set(zip(*(words[i:] for i in range(SHINGLE)), strict=False))


def jaccard(a: str, b: str) -> float:
    """Shingles that both texts have, over those that either has; 0 where neither has any."""
    first, second = shingles(a), shingles(b)
    both = len(first & second)
    return both / max(1, len(first) + len(second) - both)


def banding(similarity: float) -> tuple[int, int]:
    """(bands, rows) that find pairs of at least `similarity` with probability RECALL or more.

    Of those with at most 64 values, the one with the longest bands: it compares the fewest pairs in vain.
    """
    choices: list[tuple[int, int]] = []
    for rows in range(1, _MOST_VALUES + 1):
        bands = math.ceil(math.log(1 - RECALL) / math.log1p(-(similarity**rows)))
        if bands * rows > _MOST_VALUES and choices:
            break
        choices.append((bands, rows))
    return choices[-1]


class Bands:
    """Hashes texts so that similar ones share a band. The same for every process and machine."""

    def __init__(self, similarity: float) -> None:
        self.bands, self.rows = banding(similarity)
        draw = np.random.Generator(np.random.PCG64(0))
        values = self.bands * self.rows
        self._shingles = WordRuns(SHINGLE, draw)
        self._flips = draw.integers(0, 1 << 63, values, dtype=np.uint64)
        self._factors = draw.integers(1, 1 << 63, values, dtype=np.uint64) | np.uint64(1)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Band keys of normalized texts, each with a word at least: shape (texts, bands)."""
        if not texts:
            return np.empty((0, self.bands), np.int64)
        # A text of fewer words is one shingle.
        hashes, counts = self._shingles(words + [""] * (SHINGLE - len(words)) for words in map(tokens, texts))
        starts = counts.cumsum() - counts
        keys = np.empty((len(texts), self.bands), np.uint64)
        for band in range(self.bands):
            key = np.full(len(texts), band + 1, np.uint64)
            for value in range(band * self.rows, (band + 1) * self.rows):
                smallest = np.minimum.reduceat((hashes ^ self._flips[value]) * self._factors[value], starts)
                key = mixed(key ^ smallest)
            keys[:, band] = key
        return keys.view(np.int64)
