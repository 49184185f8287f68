"""Batches for two towers: pairs of several pre-training tasks, or their documents."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, Sentences, select_rows, text_layout
from contexture.streams.base import Stream, TextStream, TokenStream, factorize, part_rows, read_token_columns
from contexture.streams.pairs.config import PairsConfig
from contexture.streams.rows import EmptyExamplesError, ShuffledRows

COLUMNS = ["query", "title", "passage", "document", "document_pairs"]
#: Columns with a list for each pair: texts and ids of its negatives, and the margins of a cross-encoder, if computed.
NEGATIVE_COLUMNS = ["negative_titles", "negative_passages", "negative_documents", "margins"]


def open_tasks(folders: Sequence[Path], seed: int, columns: Sequence[str] = COLUMNS) -> dict[str, ShuffledRows]:
    """Return name of the folder → its pairs, without empty folders; raise EmptyExamplesError if all are empty."""
    rows = {}
    for folder in folders:
        with suppress(EmptyExamplesError):
            rows[folder.name] = ShuffledRows(folder, columns, seed)
    if not rows:
        raise EmptyExamplesError(
            f"{', '.join(map(str, folders))}: no pairs in these files; see the counts of the examples stage"
        )
    return rows


class PairRows:
    """An endless stream of pairs of several pre-training tasks, one folder per task.

    With mixture `uniform`, every range of rows has equally many pairs of each task; with `pooled`, pairs in proportion
    to the tasks' sizes. Tasks without pairs, such as WLP on text without links, are skipped. Raises EmptyExamplesError
    if no task has pairs.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        mixture: Literal["uniform", "pooled"],
        seed: int,
        columns: Sequence[str] = COLUMNS,
    ) -> None:
        streams = open_tasks(folders, seed, columns).values()
        self.streams = sorted(streams, key=lambda stream: stream.rows)  # largest last, see `_counts_at`
        weights = [stream.rows if mixture == "pooled" else 1 for stream in self.streams]
        self.shares = [Fraction(weight, sum(weights)) for weight in weights]
        self.rows, self.mixture = sum(stream.rows for stream in streams), mixture

    def check_batch_size(self, size: int) -> None:
        """Raise ValueError if `take` could return more than `size` pairs, because the other tasks' shares exceed it.

        With `uniform` this is impossible: the largest task gets its share with an offset, as the others do.
        """
        if self.mixture == "pooled" and sum(math.ceil(size * share) for share in self.shares[:-1]) > size:
            raise ValueError(
                f"batch_size {size} is too small for the pooled pairs of {len(self.shares)} tasks: increase it, or set "
                "mixture of the stream to uniform"
            )

    def take(self, start: int, count: int) -> pa.Table:
        """Return pairs start … start+count−1 of the mixture of tasks; see `check_batch_size` for the least `count`.

        `log_q` is the log probability of a pair's task and document.
        """
        tables = []
        for stream, share, first, end in zip(
            self.streams, self.shares, self._counts_at(start), self._counts_at(start + count), strict=True
        ):
            if end > first:
                table = stream.take(first, end - first)
                probability = table["document_pairs"].to_numpy() * float(share) / stream.rows
                table = table.drop_columns(["document_pairs"])
                tables.append(table.append_column("log_q", pa.array(np.log(probability), pa.float32())))
        return pa.concat_tables(tables, promote_options="default")

    def _counts_at(self, position: int) -> list[int]:
        """Return how many of the first `position` pairs of the mixture each task has.

        A task gets its share, rounded with an offset of its own so that tasks alternate; the largest gets the rest.
        """
        starts = accumulate(self.shares, initial=Fraction(0))
        counts = [int(position * share + start) for share, start in zip(self.shares[:-1], starts, strict=False)]
        return [*counts, position - sum(counts)]


class _PairTaskStream(Stream):
    config: PairsConfig

    def open(self, folder: Path, seed: int) -> PairRows:
        """Return the endless mixture of the selected tasks' pairs; ValueError if batches are too small for it."""
        rows = PairRows([folder / task for task in self.config.selected_tasks], self.config.mixture, seed)
        rows.check_batch_size(self.batching.batch_size)
        return rows


class Pairs(_PairTaskStream, TextStream):
    """Pairs of `query` and `document`, with `document_ids` (B,) and `log_q` (B,); see `InBatchNegatives`."""

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's pairs as `query` and `document`, with the documents' ids and log probabilities."""
        documents = read_token_columns(table, "title", "passage")
        return self.collate_rows(table, documents, part_rows(documents.lengths.sum(axis=1), part, parts))

    def collate_rows(self, table: pa.Table, documents: Sentences, rows: Ints) -> dict[str, Any]:
        """Return the batch of these rows of the step's `table`, whose documents are `documents`."""
        queries = select_rows(read_token_columns(table, "query"), rows)
        # Codes of the whole step's documents, which are the same on all ranks.
        return pair_batch(self.encoder, queries, select_rows(documents, rows), self.batching.tokens_at_once) | {
            "document_ids": factorize(table["document"])[rows],
            "log_q": torch.from_numpy(table["log_q"].to_numpy()[rows]),
        }


class HardPairs(Pairs):
    """Pairs with K negatives each: also `negative`, (B·K) texts in the order of the pairs, and `negative_ids` (B·K,).

    If a cross-encoder has scored them, also `margins` (B, K). Equal ids are the same document.
    """

    def open(self, folder: Path, seed: int) -> PairRows:
        """See `Stream.open`."""
        mined = sorted(path.name for path in folder.iterdir() if list(path.glob("*.parquet")))
        tasks: Sequence[str] = self.config.tasks or mined
        columns = [*COLUMNS, *NEGATIVE_COLUMNS]
        rows = PairRows([folder / task for task in tasks], self.config.mixture, seed, columns)
        rows.check_batch_size(self.batching.batch_size)
        return rows

    def collate_rows(self, table: pa.Table, documents: Sentences, rows: Ints) -> dict[str, Any]:
        """Return the batch of `Pairs` with the negatives of these rows."""
        titles, passages, ids, margins = (flatten(table[column]) for column in NEGATIVE_COLUMNS)
        negatives = read_token_columns(pa.table({"title": titles, "passage": passages}), "title", "passage")
        count = len(ids) // len(table)
        negative_rows = (rows[:, None] * count + np.arange(count)).ravel()
        codes = factorize(pa.chunked_array([*table["document"].chunks, ids]))
        batch = super().collate_rows(table, documents, rows) | {
            "document_ids": codes[rows],
            "negative": self.encoder.batch(
                select_rows(negatives, negative_rows), "document", self.batching.tokens_at_once
            ),
            "negative_ids": codes[len(table) + negative_rows],
        }
        if len(margins):
            batch["margins"] = torch.from_numpy(margins.to_numpy().reshape(len(table), count)[rows])
        return batch

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return vectors by role; those of `negative` (B·K, D) are documents."""
        return super().encode(encoder, batch) | {"negative": encoder(batch["negative"], "document")}


class Passages(_PairTaskStream, TokenStream):
    """The documents of pairs as batches of tokens."""

    token_columns = ("title", "passage")

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch the tokens of a part's documents, title and passage."""
        documents = read_token_columns(table, *self.token_columns)
        rows = part_rows(documents.lengths.sum(axis=1), part, parts)
        return text_layout(select_rows(documents, rows), self.encoder.specials, self.encoder.lengths.document)


def flatten(column: pa.ChunkedArray) -> pa.Array:
    """Return the values of a column of lists, in order."""
    return pa.chunked_array(column).combine_chunks().flatten()


def pair_batch(encoder: Encoder, queries: Sentences, documents: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """Return the batches `query` and `document` for the encoder."""
    return {
        "query": encoder.batch(queries, "query", tokens_at_once),
        "document": encoder.batch(documents, "document", tokens_at_once),
    }
