"""Seeded randomness, and unlimited readable names."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from random import Random
from typing import TypeVar

T = TypeVar("T")

SYLLABLES = tuple("".join(s) for s in product("bdfghklmnprstvw", "aeiou", "lrnms"))
# Coprime to powers of the number of syllables (3·5³), so that multiplication permutes the names of one length.
_STRIDES = (1_000_003, 15_485_863, 32_452_843, 49_979_687)


def seeded_random(*ids: int | str) -> Random:
    """Return a random generator whose numbers depend on `ids` alone."""
    key = "/".join(map(str, ids)).encode()
    return Random(int.from_bytes(blake2b(key, digest_size=8).digest()))


# Python only guarantees the same numbers in all versions for Random.random(), not for choice and shuffle.
def pick(options: Sequence[T], rng: Random) -> T:
    """Return a random element of `options`."""
    return options[int(rng.random() * len(options))]


def shuffle(options: Sequence[T], rng: Random) -> list[T]:
    """Return all of `options` in random order."""
    keys = [rng.random() for _ in options]
    return [options[i] for i in sorted(range(len(options)), key=keys.__getitem__)]


def page_stem(seed: int, index: int) -> str:
    """Return the unique lower-case name of page `index`: two syllables of three letters, or more for large indices."""
    length, size = 2, len(SYLLABLES) ** 2
    while index >= size:
        index -= size
        length += 1
        size *= len(SYLLABLES)
    stride, start = _draw_permutation(seed)
    number = (index * stride + start) % size
    syllables = []
    for _ in range(length):
        number, digit = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[digit])
    return "".join(syllables)


@lru_cache(maxsize=8)
def _draw_permutation(seed: int) -> tuple[int, int]:
    """Return multiplier and offset, drawn by the seed, that `page_stem` uses to permute the names of pages."""
    rng = seeded_random(seed, "names")
    return pick(_STRIDES, rng), int(rng.random() * 2**40)
