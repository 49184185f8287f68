"""Random choices as functions of a seed and stable ids."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

Item = TypeVar("Item")


def seeded_random(*key: int | str) -> Random:
    """Return a random generator seeded with the key alone. Different keys give independent generators."""
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return Random(int.from_bytes(digest, "big"))


def uniform_draw(seed: int, purpose: str, *columns: str) -> Column:
    """Return a column of random numbers in [0, 1), a function of the seed, the purpose and the columns."""
    num_buckets = 1 << 30
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(purpose), *columns), F.lit(num_buckets)) / F.lit(float(num_buckets))


def shuffle_into_files(rows: DataFrame, files: int, seed: int, *key: str) -> DataFrame:
    """Partition rows into `files` by a hash of their key. The seed decides the order in each partition."""
    return rows.repartition(files, *key).sortWithinPartitions(F.xxhash64(F.lit(seed), *key), *key)


def lazy_shuffle(items: Sequence[Item], rng: Random, start: int = 0, end: int = 0) -> Iterator[Item]:
    """Yield the items outside `start:end` in random order. The first n items cost O(n)."""
    moved: dict[int, int] = {}  # Fisher-Yates; stores only the positions that changed
    size = len(items) - (end - start)
    for i in range(size):
        j = rng.randrange(i, size)
        position = moved.get(j, j)
        moved[j] = moved.get(i, i)
        yield items[position if position < start else position + end - start]
