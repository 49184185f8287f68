"""Example files → batches, where the batch is a function of (seed, step) alone."""

from abc import ABC, abstractmethod
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import Dataset

from contexture.encoders.config import LayoutConfig
from contexture.encoders.layout import Batch, Ints, Sentences, Specials, joint_layout, select
from contexture.training.seeding import mix


def rows_in(folder: Path) -> int:
    """Rows of the Parquet files in a folder; FileNotFoundError where there is no file."""
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise FileNotFoundError(f"{folder}: no Parquet files; run the examples stage first")
    return sum(pq.ParquetFile(file).metadata.num_rows for file in files)


class _ParquetRows:
    """Rows of a folder of Parquet files by row group; only one or two groups are in memory at a time."""

    def __init__(self, folder: Path, columns: list[str]) -> None:
        if not rows_in(folder):
            raise ValueError(f"{folder}: no examples in these files; see the counts of the examples stage")
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


class Rows(Protocol):
    """An endless stream of rows."""

    def take(self, start: int, count: int) -> pa.Table:
        """Rows start … start+count−1."""


class StepBatches(Dataset[dict[str, Any]], ABC):
    """Batches of a stream of rows; item i is forward pass i of the run, counted from the first of `steps`.

    Rows of one optimizer step are sorted by length and dealt out to its passes and ranks in turn: all have rows of all
    lengths, hence the same work, and their mean losses weigh alike.
    """

    def __init__(
        self, rows: Rows, *, batch_size: int, steps: range, accumulated: int = 1, rank: int = 0, ranks: int = 1
    ) -> None:
        self.rows, self.batch_size, self.steps = rows, batch_size, steps
        self.accumulated, self.rank, self.ranks = accumulated, rank, ranks

    def __len__(self) -> int:
        return len(self.steps) * self.accumulated

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        step, part = self.steps[index // self.accumulated], index % self.accumulated
        table = self.rows.take(step * self.batch_size, self.batch_size)
        return self.batch(table, part * self.ranks + self.rank)

    @abstractmethod
    def batch(self, table: pa.Table, place: int) -> dict[str, Any]:
        """The batch of the pass and rank at `place`, of the rows of a whole step."""

    def dealt(self, lengths: Ints, place: int) -> Ints:
        """The rows that come to `place`, of rows of these lengths (B,)."""
        return np.sort(np.argsort(lengths, kind="stable")[place :: self.accumulated * self.ranks])


class JointBatches(StepBatches):
    """Batches of joint examples."""

    def __init__(self, rows: Rows, specials: Specials, layout: LayoutConfig, **steps: Any) -> None:
        super().__init__(rows, **steps)
        self.specials, self.layout = specials, layout

    def batch(self, table: pa.Table, place: int) -> Batch:
        """See `joint_layout`; with `labels` (B, k)."""
        sentences, labels = joint_examples(table, self.layout.candidates)
        mine = self.dealt(sentences.lengths.sum(axis=1), place)
        batch = joint_layout(select(sentences, mine), self.specials, self.layout)
        return batch | {"labels": torch.from_numpy(labels[mine])}


def joint_examples(table: pa.Table, candidates: int) -> tuple[Sentences, npt.NDArray[np.int64]]:
    """Columns `sentences` (lists of k+1 lists of ids) and `labels` (lists of k) → arrays."""
    sentences = pa.chunked_array(table["sentences"]).combine_chunks()
    inner = sentences.flatten()
    lengths = np.diff(inner.offsets.to_numpy()).astype(np.int64)
    labels = pa.chunked_array(table["labels"]).combine_chunks().flatten().to_numpy().astype(np.int64)
    if len(lengths) != len(table) * (candidates + 1) or len(labels) != len(table) * candidates:
        raise ValueError(
            f"the examples do not hold {candidates} candidates each, as layout.candidates says: "
            "run the examples stage again with these parameters"
        )
    tokens = inner.flatten().to_numpy().astype(np.int64)
    return Sentences(tokens, lengths.reshape(-1, candidates + 1)), labels.reshape(-1, candidates)
