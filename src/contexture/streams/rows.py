"""Endless streams of rows from example files. A row is a function of (seed, position)."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.seeding import mix


class EmptyExamplesError(ValueError):
    """The example files have no rows."""


class Rows(Protocol):
    """An endless stream that repeats `rows` rows."""

    rows: int

    def take(self, start: int, count: int) -> pa.Table:
        """Return rows start … start+count−1 of the endless stream."""


class ShuffledRows:
    """An endless shuffled stream of the rows of a folder of Parquet files.

    Each epoch shuffles the row groups, and the rows within each. That is random enough because the sampling stage has
    shuffled rows over files. At most two row groups are in memory.
    """

    def __init__(self, folder: Path, columns: Sequence[str], seed: int) -> None:
        """Raise FileNotFoundError if there is no file, EmptyExamplesError if the files have no rows."""
        files = {file: pq.ParquetFile(file).metadata for file in sorted(folder.glob("*.parquet"))}
        if not files:
            raise FileNotFoundError(f"{folder}: no Parquet files; run the examples stage first")
        self.columns, self.seed = list(columns), seed
        self.groups = [(file, group) for file, data in files.items() for group in range(data.num_row_groups)]
        self.sizes = np.array([files[file].row_group(group).num_rows for file, group in self.groups], dtype=np.int64)
        self.rows = int(self.sizes.sum())
        if not self.rows:
            raise EmptyExamplesError(f"{folder}: no examples in these files; see the counts of the examples stage")
        self._group = lru_cache(maxsize=2)(self._read_group)
        self._order = lru_cache(maxsize=4)(self._make_order)

    def take(self, start: int, count: int) -> pa.Table:
        """Return rows start … start+count−1 of the stream."""
        parts = []
        while count:
            epoch, offset = divmod(start, self.rows)
            order = self._order(len(self.groups), epoch)
            ends = np.cumsum(self.sizes[order])
            position = int(np.searchsorted(ends, offset, side="right"))
            group, size = int(order[position]), int(self.sizes[order[position]])
            first = offset - int(ends[position] - size)
            rows = self._order(size, epoch, group)[first : first + count]
            parts.append(self._group(group).take(pa.array(rows)))
            start, count = start + len(rows), count - len(rows)
        return pa.concat_tables(parts)

    def _make_order(self, size: int, *key: int) -> npt.NDArray[np.int64]:
        """Return a permutation of 0 … size−1, seeded with the key."""
        return np.random.default_rng(mix(self.seed, *key)).permutation(size)

    def _read_group(self, group: int) -> pa.Table:
        """Read the row group at index `group` of all files."""
        file, number = self.groups[group]
        return pq.ParquetFile(file).read_row_group(number, columns=self.columns)


class OrderedRows(ShuffledRows):
    """An endless stream of the rows of a folder of Parquet files in file order."""

    def _make_order(self, size: int, *key: int) -> npt.NDArray[np.int64]:
        """Return 0 … size−1: file order."""
        return np.arange(size)
