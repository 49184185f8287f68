"""Tables of pairs → batches for two towers, where the batch is a function of (seed, step) alone."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.config import PairLayoutConfig
from contexture.encoders.layout import Batch, Sentences, Specials, select, text_chunks, text_layout
from contexture.training.data import ShuffledRows, StepBatches, rows_in

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


class PairBatches(StepBatches):
    """Batches of pairs for `TwoTowers`."""

    def __init__(
        self, rows: PairStream, specials: Specials, layout: PairLayoutConfig, *, tokens_at_once: int, **steps: Any
    ) -> None:
        super().__init__(rows, **steps)
        self.specials, self.layout, self.tokens_at_once = specials, layout, tokens_at_once

    def batch(self, table: pa.Table, place: int) -> dict[str, Any]:
        """See `towers.PairBatch`."""
        documents = parts_of(table, "title", "passage")
        mine = self.dealt(documents.lengths.sum(axis=1), place)
        # Numbers for the documents of the whole step: all ranks give a document the same one.
        ids = pa.chunked_array(table["document"]).combine_chunks().dictionary_encode().indices.to_numpy()
        return pair_batch(
            select(parts_of(table, "query"), mine),
            select(documents, mine),
            self.specials,
            self.layout,
            self.tokens_at_once,
        ) | {
            "document_ids": torch.from_numpy(ids[mine].astype(np.int64)),
            "log_q": torch.from_numpy(table["log_q"].to_numpy()[mine]),
        }


class DocumentBatches(StepBatches):
    """Batches of the documents of pairs, for masked language modelling."""

    def __init__(self, rows: PairStream, specials: Specials, layout: PairLayoutConfig, **steps: Any) -> None:
        super().__init__(rows, **steps)
        self.specials, self.layout = specials, layout

    def batch(self, table: pa.Table, place: int) -> Batch:
        """See `text_layout`."""
        documents = parts_of(table, "title", "passage")
        mine = self.dealt(documents.lengths.sum(axis=1), place)
        return text_layout(select(documents, mine), self.specials, self.layout.document_tokens)


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
    asked, query_rows = text_chunks(queries, specials, layout.query_tokens, tokens_at_once)
    found, document_rows = text_chunks(documents, specials, layout.document_tokens, tokens_at_once)
    return {"queries": asked, "query_rows": query_rows, "documents": found, "document_rows": document_rows}
