"""Random choices that are a function of a seed and of stable ids."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

Item = TypeVar("Item")


def seeded_random(*key: int | str) -> Random:
    """Return a generator that is a function of the key alone; keys that differ give independent generators."""
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return Random(int.from_bytes(digest, "big"))


def uniform_draw(seed: int, purpose: str, *columns: str) -> Column:
    """A number from 0 up to 1 for every row of a table, a function of the seed, its purpose, and the columns."""
    num_buckets = 1 << 30
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(purpose), *columns), F.lit(num_buckets)) / F.lit(float(num_buckets))


def shuffle_into_files(rows: DataFrame, files: int, seed: int, *key: str) -> DataFrame:
    """The rows in so many files by a hash of their key, each file in an order drawn from the seed."""
    return rows.repartition(files, *key).sortWithinPartitions(F.xxhash64(F.lit(seed), *key), *key)


def lazy_shuffle(items: Sequence[Item], rng: Random, start: int = 0, end: int = 0) -> Iterator[Item]:
    """Yield the items outside `start:end` in random order; the first n cost O(n), however many items there are."""
    moved: dict[int, int] = {}  # a Fisher-Yates shuffle that stores only the positions it has touched
    size = len(items) - (end - start)
    for i in range(size):
        j = rng.randrange(i, size)
        position = moved.get(j, j)
        moved[j] = moved.get(i, i)
        yield items[position if position < start else position + end - start]
