"""Read rows of Parquet files a few at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

#: Rows per row group of files from which single rows are read.
ROWS_PER_GROUP = 1000
#: Rows per batch when a whole file is read.
ROWS_PER_BATCH = 16_000


def read_batches(folder: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches of all Parquet files below a folder, sorted by file name."""
    for file in sorted(folder.rglob("*.parquet")):
        yield from pq.ParquetFile(file).iter_batches(ROWS_PER_BATCH, columns=columns)


class ParquetRows:
    """An open Parquet file. Raises OSError or ArrowInvalid if the file is missing or damaged."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetFile(path)
        metadata = self._file.metadata
        self._starts = np.cumsum([0, *(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def read_range(self, rows: range, columns: list[str]) -> list[tuple[Any, ...]]:
        """Return a non-empty range of rows as tuples of the columns."""
        first, last = (int(np.searchsorted(self._starts, row, side="right")) - 1 for row in (rows[0], rows[-1]))
        groups = self._file.read_row_groups(range(first, last + 1), columns=columns)
        return list(_tuples(groups.slice(rows[0] - int(self._starts[first]), len(rows)), columns))

    def take(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return the given rows as dictionaries, in the order of `rows`."""
        groups = (np.searchsorted(self._starts, rows, side="right") - 1).tolist()
        parts = {group: self._file.read_row_group(group) for group in set(groups)}
        return [
            parts[group].slice(row - int(self._starts[group]), 1).to_pylist()[0]
            for row, group in zip(rows, groups, strict=True)
        ]

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Iterate over all rows in batches."""
        batches: Iterator[pa.RecordBatch] = self._file.iter_batches(ROWS_PER_BATCH, columns=columns)
        return batches

    def tuples(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """Yield all rows as tuples of the columns."""
        for batch in self.batches(columns):
            yield from _tuples(batch, columns)


def _tuples(rows: pa.Table | pa.RecordBatch, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[column].to_pylist() for column in columns), strict=True)
