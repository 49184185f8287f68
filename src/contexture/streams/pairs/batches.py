"""Two towers' batches: pairs of several pre-training tasks, or their documents alone."""

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Sentences, select, text_layout
from contexture.streams.base import Stream, TextStream, TokenStream, dealt, numbers, parts_of
from contexture.streams.pairs.config import PairsConfig
from contexture.streams.rows import NothingToReadError, ShuffledRows

COLUMNS = ["query", "title", "passage", "document", "document_pairs"]


class PairStream:
    """An endless stream of pairs of several pre-training tasks, one folder each.

    `uniform`: any stretch of it has as many pairs of each task; `pooled`: as many of each as the task has pairs. A task
    without pairs, such as WLP where nothing is linked, has no part in it; where none has any, NothingToReadError.
    """

    def __init__(self, folders: Sequence[Path], mixture: Literal["uniform", "pooled"], seed: int) -> None:
        streams = []
        for folder in folders:
            with suppress(NothingToReadError):
                streams.append(ShuffledRows(folder, COLUMNS, seed))
        if not streams:
            raise NothingToReadError(
                f"{', '.join(map(str, folders))}: no pairs in these files; see the examples stage's counts"
            )
        self.streams = sorted(streams, key=lambda stream: stream.rows)  # the largest last, see `_counts_at`
        weights = [stream.rows if mixture == "pooled" else 1 for stream in self.streams]
        self.contains_runs = [Fraction(weight, sum(weights)) for weight in weights]
        self.rows = sum(stream.rows for stream in streams)

    def take(self, start: int, count: int) -> pa.Table:
        """Pairs start … start+count−1, two or more; `log_q` is the log of the probability of its task and document."""
        tables = []
        for stream, share, first, end in zip(
            self.streams, self.contains_runs, self._counts_at(start), self._counts_at(start + count), strict=True
        ):
            if end > first:
                table = stream.take(first, end - first)
                probability = table["document_pairs"].to_numpy() * float(share) / stream.rows
                table = table.drop_columns(["document_pairs"])
                tables.append(table.append_column("log_q", pa.array(np.log(probability), pa.float32())))
        return pa.concat_tables(tables, promote_options="default")

    def _counts_at(self, position: int) -> list[int]:
        """Pairs of each task before a position of the stream: its share, rounded; the largest task has the rest.

        Each is rounded at another fraction, so that tasks take turns.
        """
        starts = accumulate(self.contains_runs, initial=Fraction(0))
        counts = [int(position * share + start) for share, start in zip(self.contains_runs[:-1], starts, strict=False)]
        return [*counts, position - sum(counts)]


class _PairRows(Stream):
    config: PairsConfig

    def open(self, folder: Path, seed: int) -> PairStream:
        """See `Stream.open`."""
        return PairStream([folder / task for task in self.config.read], self.config.mixture, seed)


class Pairs(_PairRows, TextStream):
    """A `query` and a `document` each; `document_ids` (B,) and `log_q` (B,), see `InBatchNegatives`."""

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        documents = parts_of(table, "title", "passage")
        mine = dealt(documents.lengths.sum(axis=1), part, parts)
        queries = select(parts_of(table, "query"), mine)
        # Numbers for the documents of the whole step: all ranks give a document the same one.
        return pair_batch(self.encoder, queries, select(documents, mine), self.steps.tokens_at_once) | {
            "document_ids": numbers(table["document"])[mine],
            "log_q": torch.from_numpy(table["log_q"].to_numpy()[mine]),
        }


class Passages(_PairRows, TokenStream):
    """The documents of pairs as batches of tokens."""

    texts = ("title", "passage")

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """See `text_layout`."""
        documents = parts_of(table, *self.texts)
        mine = dealt(documents.lengths.sum(axis=1), part, parts)
        return text_layout(select(documents, mine), self.encoder.specials, self.encoder.lengths.document)


def pair_batch(encoder: Encoder, queries: Sentences, documents: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """Queries and documents as the encoder reads them."""
    return {
        "query": encoder.batch(queries, "query", tokens_at_once),
        "document": encoder.batch(documents, "document", tokens_at_once),
    }
