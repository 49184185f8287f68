"""Tables of pairs → batches for two towers, where the batch is a function of (seed, step) alone."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from torch.utils.data import Dataset

from contexture.encoders.config import PairLayoutConfig
from contexture.encoders.layout import Batch, Ints, Sentences, Specials, select, text_chunks, text_layout
from contexture.training.data import ShuffledRows, rows_in

COLUMNS = ["query", "title", "passage", "document", "document_pairs"]


class NoPairsError(ValueError):
    """Nothing to train on."""


class PairStream:
    """An endless stream of pairs of several pre-training tasks, one folder each.

    `uniform`: any stretch of it has as many pairs of each task; `pooled`: as many of each as the task has pairs. A task
    without pairs, such as WLP where nothing is linked, has no part in it; where none has any, NoPairsError.
    """

    def __init__(self, folders: Sequence[Path], mixture: Literal["uniform", "pooled"], seed: int) -> None:
        streams = [ShuffledRows(folder, COLUMNS, seed) for folder in folders if rows_in(folder)]
        if not streams:
            raise NoPairsError(
                f"{', '.join(map(str, folders))}: no pairs in these files; see the examples stage's counts"
            )
        self.streams = sorted(streams, key=lambda stream: stream.rows)  # the largest last, see `_before`
        weights = [stream.rows if mixture == "pooled" else 1 for stream in self.streams]
        self.shares = [Fraction(weight, sum(weights)) for weight in weights]
        self.rows = sum(stream.rows for stream in streams)

    def take(self, start: int, count: int) -> pa.Table:
        """Pairs start … start+count−1, two or more; `log_q` is the log of the probability of its task and document."""
        tables = []
        for stream, share, first, end in zip(
            self.streams, self.shares, self._before(start), self._before(start + count), strict=True
        ):
            if end > first:
                table = stream.take(first, end - first)
                probability = table["document_pairs"].to_numpy() * float(share) / stream.rows
                table = table.drop_columns(["document_pairs"])
                tables.append(table.append_column("log_q", pa.array(np.log(probability), pa.float32())))
        return pa.concat_tables(tables, promote_options="default")

    def _before(self, place: int) -> list[int]:
        """Pairs of each task before a place of the stream: its share, rounded; the largest task has the rest.

        Each is rounded at another fraction, so that tasks take turns.
        """
        starts = accumulate(self.shares, initial=Fraction(0))
        counts = [int(place * share + start) for share, start in zip(self.shares[:-1], starts, strict=False)]
        return [*counts, place - sum(counts)]


class PairBatches(Dataset[dict[str, Any]]):
    """Batches of pairs for `TwoTowers`; item i is step i of the run, counted from the first of `steps`.

    The pairs of a step are sorted by the length of the document and dealt out to the ranks in turn.
    """

    def __init__(
        self,
        stream: PairStream,
        specials: Specials,
        layout: PairLayoutConfig,
        *,
        batch_size: int,
        tokens_at_once: int,
        steps: range,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self.stream, self.specials, self.layout = stream, specials, layout
        self.batch_size, self.tokens_at_once, self.steps = batch_size, tokens_at_once, steps
        self.rank, self.ranks = rank, ranks

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        table = self.stream.take(self.steps[index] * self.batch_size, self.batch_size)
        documents = parts_of(table, "title", "passage")
        mine = dealt(documents.lengths.sum(axis=1), self.rank, self.ranks)
        # Numbers for the documents of the whole step: all ranks give a document the same one.
        ids = pa.chunked_array(table["document"]).combine_chunks().dictionary_encode().indices.to_numpy()
        log_q = table["log_q"].to_numpy()
        return pair_batch(
            select(parts_of(table, "query"), mine),
            select(documents, mine),
            self.specials,
            self.layout,
            self.tokens_at_once,
        ) | {
            "document_ids": torch.from_numpy(ids[mine].astype(np.int64)),
            "log_q": torch.from_numpy(log_q[mine]),
        }


class DocumentBatches(Dataset[Batch]):
    """Batches of the documents of pairs, for masked language modelling; item i is forward pass i of the run."""

    def __init__(
        self,
        stream: PairStream,
        specials: Specials,
        layout: PairLayoutConfig,
        *,
        batch_size: int,
        accumulated: int,
        steps: range,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self.stream, self.specials, self.layout = stream, specials, layout
        self.batch_size, self.accumulated, self.steps = batch_size, accumulated, steps
        self.rank, self.ranks = rank, ranks

    def __len__(self) -> int:
        return len(self.steps) * self.accumulated

    def __getitem__(self, index: int) -> Batch:
        if not 0 <= index < len(self):
            raise IndexError(index)
        step, part = self.steps[index // self.accumulated], index % self.accumulated
        table = self.stream.take(step * self.batch_size, self.batch_size)
        documents = parts_of(table, "title", "passage")
        mine = dealt(documents.lengths.sum(axis=1), part * self.ranks + self.rank, self.accumulated * self.ranks)
        return text_layout(select(documents, mine), self.specials, self.layout.document_tokens)


def dealt(lengths: Ints, rank: int, ranks: int) -> Ints:
    """The rows of a rank: sorted by length and dealt out in turn, all ranks have rows of all lengths."""
    return np.sort(np.argsort(lengths, kind="stable")[rank::ranks])


def parts_of(table: pa.Table, *columns: str) -> Sentences:
    """Columns of lists of token ids → texts of so many parts."""
    arrays = [pa.chunked_array(table[column]).combine_chunks() for column in columns]
    lengths = np.stack([np.diff(array.offsets.to_numpy()) for array in arrays], axis=1).astype(np.int64)
    if len(arrays) == 1:
        return Sentences(arrays[0].flatten().to_numpy().astype(np.int64), lengths)
    starts = [array.offsets.to_numpy() for array in arrays]
    values = [array.values.to_numpy() for array in arrays]
    rows = range(len(table))
    parts = [v[s[row] : s[row + 1]] for row in rows for v, s in zip(values, starts, strict=True)]
    return Sentences(np.concatenate(parts).astype(np.int64), lengths)


def pair_batch(
    queries: Sentences, documents: Sentences, specials: Specials, layout: PairLayoutConfig, tokens_at_once: int
) -> dict[str, Any]:
    """Queries and documents in chunks of like length, and where each row stands in them (see `towers.PairBatch`)."""
    out: dict[str, Any] = {}
    for name, texts, limit in (
        ("query", queries, layout.query_tokens),
        ("document", documents, layout.document_tokens),
    ):
        chunks, rows = text_chunks(texts, specials, limit, tokens_at_once)
        out |= {"queries" if name == "query" else "documents": chunks, f"{name}_rows": rows}
    return out
