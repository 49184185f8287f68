"""Randomness by name, and readable names without end."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from random import Random
from typing import TypeVar

T = TypeVar("T")

SYLLABLES = tuple("".join(s) for s in product("bdfghklmnprstvw", "aeiou", "lrnms"))
# Any of them has no factor in common with a power of the number of syllables (3·5³), so that multiplying by it
# permutes the names of one length.
_STRIDES = (1_000_003, 15_485_863, 32_452_843, 49_979_687)


def seeded_random(*ids: int | str) -> Random:
    """Random numbers that depend on nothing but `ids`, on every machine and in any order of calls."""
    key = "/".join(map(str, ids)).encode()
    return Random(int.from_bytes(blake2b(key, digest_size=8).digest()))


# Only Random.random() is promised to give the same numbers in every Python version; choice and shuffle are not.
def pick(options: Sequence[T], rng: Random) -> T:
    """One of `options`, each as likely as another."""
    return options[int(rng.random() * len(options))]


def shuffle(options: Sequence[T], rng: Random) -> list[T]:
    """All of `options` in random order."""
    keys = [rng.random() for _ in options]
    return [options[i] for i in sorted(range(len(options)), key=keys.__getitem__)]


def page_stem(seed: int, index: int) -> str:
    """The lower-case name of page `index`: two syllables of three letters, more when these are used up.

    Different indices have different stems: names of one length are permuted by a stride, and names of different
    lengths differ in length.
    """
    length, size = 2, len(SYLLABLES) ** 2
    while index >= size:
        index -= size
        length += 1
        size *= len(SYLLABLES)
    stride, start = _permutation(seed)
    number = (index * stride + start) % size
    syllables = []
    for _ in range(length):
        number, digit = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[digit])
    return "".join(syllables)


@lru_cache(maxsize=8)
def _permutation(seed: int) -> tuple[int, int]:
    rng = seeded_random(seed, "names")
    return pick(_STRIDES, rng), int(rng.random() * 2**40)
