"""Example files → endless streams of rows, where a row is a function of (seed, position) alone."""

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
    """Examples without a row."""


class Rows(Protocol):
    """An endless stream over `rows` rows."""

    rows: int

    def take(self, start: int, count: int) -> pa.Table:
        """Rows start … start+count−1."""


class ShuffledRows:
    """An endless shuffled stream over the rows of a folder of Parquet files.

    Row groups come in an order drawn for each epoch, rows within a group likewise. The sampling stage has shuffled the
    rows over the files, so that this is random enough. Only one or two groups are in memory at a time.
    """

    def __init__(self, folder: Path, columns: Sequence[str], seed: int) -> None:
        """Raise FileNotFoundError if there is no file, NothingToReadError if the files have no row."""
        files = {file: pq.ParquetFile(file).metadata for file in sorted(folder.glob("*.parquet"))}
        if not files:
            raise FileNotFoundError(f"{folder}: no Parquet files; run the examples stage first")
        self.columns, self.seed = list(columns), seed
        self.groups = [(file, group) for file, data in files.items() for group in range(data.num_row_groups)]
        self.sizes = np.array([files[file].row_group(group).num_rows for file, group in self.groups], dtype=np.int64)
        self.rows = int(self.sizes.sum())
        if not self.rows:
            raise EmptyExamplesError(f"{folder}: no examples in these files; see the counts of the examples stage")
        self._group = lru_cache(maxsize=2)(self._read)

    def take(self, start: int, count: int) -> pa.Table:
        """Rows start … start+count−1 of the stream."""
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

    def _order(self, size: int, *key: int) -> npt.NDArray[np.int64]:
        return np.random.default_rng(mix(self.seed, *key)).permutation(size)

    def _read(self, group: int) -> pa.Table:
        file, number = self.groups[group]
        return pq.ParquetFile(file).read_row_group(number, columns=self.columns)


class OrderedRows(ShuffledRows):
    """An endless stream over the rows of a folder of Parquet files in their order, again and again."""

    def _order(self, size: int, *key: int) -> npt.NDArray[np.int64]:
        return np.arange(size)
