"""Two towers' batches: pairs of several pre-training tasks, or their documents alone."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, Sentences, select, text_layout
from contexture.streams.base import Steps, TextStream, TokenStream, dealt, numbers, parts_of
from contexture.streams.pairs.config import PairsConfig
from contexture.streams.rows import NothingToReadError, ShuffledRows, rows_in

COLUMNS = ["query", "title", "passage", "document", "document_pairs"]


class PairStream:
    """An endless stream of pairs of several pre-training tasks, one folder each.

    `uniform`: any stretch of it has as many pairs of each task; `pooled`: as many of each as the task has pairs. A task
    without pairs, such as WLP where nothing is linked, has no part in it; where none has any, NothingToReadError.
    """

    def __init__(self, folders: Sequence[Path], mixture: Literal["uniform", "pooled"], seed: int) -> None:
        streams = [ShuffledRows(folder, COLUMNS, seed) for folder in folders if rows_in(folder)]
        if not streams:
            raise NothingToReadError(
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


class Pairs(TextStream):
    """A `query` and a `document` each; `document_ids` (B,) and `log_q` (B,), see `InBatchNegatives`."""

    def __init__(self, config: PairsConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = PairStream([folder / task for task in config.read], config.mixture, seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        documents = parts_of(table, "title", "passage")
        mine = dealt(documents.lengths.sum(axis=1), place, places)
        queries = select(parts_of(table, "query"), mine)
        # Numbers for the documents of the whole step: all ranks give a document the same one.
        return pair_batch(self.encoder, queries, select(documents, mine), self.steps.tokens_at_once) | {
            "document_ids": numbers(table["document"])[mine],
            "log_q": torch.from_numpy(table["log_q"].to_numpy()[mine]),
        }


class Passages(TokenStream):
    """The documents of pairs as batches of tokens."""

    def __init__(self, config: PairsConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = PairStream([folder / task for task in config.read], config.mixture, seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `text_layout`."""
        documents = parts_of(table, "title", "passage")
        mine = dealt(documents.lengths.sum(axis=1), place, places)
        return text_layout(select(documents, mine), self.encoder.specials, self.encoder.lengths.document)

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return parts_of(self.rows.take(0, min(self.rows.rows, count)), "title", "passage").tokens


def pair_batch(encoder: Encoder, queries: Sentences, documents: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """Queries and documents as the encoder reads them."""
    return {
        "query": encoder.batch(queries, "query", tokens_at_once),
        "document": encoder.batch(documents, "document", tokens_at_once),
    }
