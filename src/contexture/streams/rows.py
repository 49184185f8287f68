"""Example files → endless streams of rows, where a row is a function of (seed, place) alone."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.seeding import mix


def rows_in(folder: Path) -> int:
    """Rows of the Parquet files in a folder; FileNotFoundError where there is no file."""
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise FileNotFoundError(f"{folder}: no Parquet files; run the examples stage first")
    return sum(pq.ParquetFile(file).metadata.num_rows for file in files)


class NothingToReadError(ValueError):
    """Examples without a row."""


class _ParquetRows:
    """Rows of a folder of Parquet files by row group; only one or two groups are in memory at a time."""

    def __init__(self, folder: Path, columns: list[str]) -> None:
        if not rows_in(folder):
            raise NothingToReadError(f"{folder}: no examples in these files; see the counts of the examples stage")
        files = sorted(folder.glob("*.parquet"))
        self.columns = columns
        self.groups = [(file, g) for file in files for g in range(pq.ParquetFile(file).num_row_groups)]
        sizes = [pq.ParquetFile(file).metadata.row_group(g).num_rows for file, g in self.groups]
        self.sizes = np.array(sizes, dtype=np.int64)
        self.rows = int(self.sizes.sum())
        self._group = lru_cache(maxsize=2)(self._read)

    def _read(self, group: int) -> pa.Table:
        file, number = self.groups[group]
        return pq.ParquetFile(file).read_row_group(number, columns=self.columns)


class ShuffledRows(_ParquetRows):
    """An endless shuffled stream over the rows of a folder of Parquet files.

    Row groups come in an order drawn for each epoch, rows within a group likewise. The sampling stage has shuffled the
    rows over the files, so that this is random enough.
    """

    def __init__(self, folder: Path, columns: list[str], seed: int) -> None:
        super().__init__(folder, columns)
        self.seed = seed

    def take(self, start: int, count: int) -> pa.Table:
        """Rows start … start+count−1 of the stream."""
        parts = []
        while count:
            epoch, offset = divmod(start, self.rows)
            order = np.random.default_rng(mix(self.seed, epoch)).permutation(len(self.groups))
            ends = np.cumsum(self.sizes[order])
            place = int(np.searchsorted(ends, offset, side="right"))
            group, size = int(order[place]), int(self.sizes[order[place]])
            first = offset - int(ends[place] - size)
            inside = np.random.default_rng(mix(self.seed, epoch, group)).permutation(size)
            rows = inside[first : first + count]
            parts.append(self._group(group).take(pa.array(rows)))
            start, count = start + len(rows), count - len(rows)
        return pa.concat_tables(parts)


class OrderedRows(_ParquetRows):
    """An endless stream over the rows of a folder of Parquet files in their order, again and again."""

    def take(self, start: int, count: int) -> pa.Table:
        """Rows start … start+count−1 of the stream."""
        parts = []
        ends = np.cumsum(self.sizes)
        while count:
            offset = start % self.rows
            group = int(np.searchsorted(ends, offset, side="right"))
            part = self._group(group).slice(offset - int(ends[group] - self.sizes[group]), count)
            parts.append(part)
            start, count = start + len(part), count - len(part)
        return pa.concat_tables(parts)
