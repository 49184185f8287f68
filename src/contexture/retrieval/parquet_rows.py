"""Rows of Parquet files, with no more of them in memory than are needed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows that are written, and hence read, together for reading single rows.
ROWS_PER_GROUP = 1000
#: Rows that are read at a time when all are read.
ROWS_PER_BATCH = 16_000


def read_batches(folder: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of all Parquet files below a folder, in the order of their names, batch by batch."""
    for file in sorted(folder.rglob("*.parquet")):
        yield from pq.ParquetFile(file).iter_batches(ROWS_PER_BATCH, columns=columns)


class ParquetRows:
    """A Parquet file, opened; OSError or ArrowInvalid if it is missing or damaged."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        metadata = self._file.metadata
        self._starts = np.cumsum([0, *(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def read_range(self, rows: range, columns: list[str]) -> list[tuple[Any, ...]]:
        """Consecutive rows, one or more, as tuples of the columns."""
        first, last = (int(np.searchsorted(self._starts, row, side="right")) - 1 for row in (rows[0], rows[-1]))
        groups = self._file.read_row_groups(range(first, last + 1), columns=columns)
        return list(_tuples(groups.slice(rows[0] - int(self._starts[first]), len(rows)), columns))

    def take(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Any rows, in their order in `rows`."""
        groups = (np.searchsorted(self._starts, rows, side="right") - 1).tolist()
        parts = {group: self._file.read_row_group(group) for group in set(groups)}
        return [
            parts[group].slice(row - int(self._starts[group]), 1).to_pylist()[0]
            for row, group in zip(rows, groups, strict=True)
        ]

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """All rows in their order, batch by batch."""
        batches: Iterator[pa.RecordBatch] = self._file.iter_batches(ROWS_PER_BATCH, columns=columns)
        return batches

    def tuples(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """All rows in their order as tuples of the columns."""
        for batch in self.batches(columns):
            yield from _tuples(batch, columns)


def _tuples(rows: pa.Table | pa.RecordBatch, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[column].to_pylist() for column in columns), strict=True)
