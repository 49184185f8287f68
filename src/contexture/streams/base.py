"""Streams: the kinds of batches that objectives read. A batch is a function of (seed, step).

The rows of an optimizer step are split over its forward passes and devices. A batch whose texts are negatives of one
another is not split over passes: each device encodes its share in the first pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import Dataset

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths, TableSizes
from contexture.encoders.layout import Ints, Sentences, row_lengths, select_rows
from contexture.streams.base_config import StreamConfig
from contexture.streams.rows import Rows, ShuffledRows


@dataclass(frozen=True)
class Batching:
    """Batch size, forward passes and devices of a stream.

    Attributes:
        batch_size: rows of an optimizer step, over all devices.
        passes: forward passes of an optimizer step.
        rank: index of this device.
        ranks: number of devices.
        tokens_at_once: maximum number of tokens, padding included, that are encoded at a time.
    """

    batch_size: int
    passes: int = 1
    rank: int = 0
    ranks: int = 1
    tokens_at_once: int = 16384


class Stream(ABC):
    """Batches of one kind, read from one folder of examples for one encoder."""

    #: Whether rows are independent, so that a step can be split into several passes.
    can_split: ClassVar[bool] = True
    #: Columns of the examples that are read.
    columns: ClassVar[tuple[str, ...]] = ()
    #: Columns with the token ids that `sample_tokens` returns.
    token_columns: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: StreamConfig, folder: Path, encoder: Encoder, seed: int, batching: Batching) -> None:
        """Open the examples. Raises FileNotFoundError or ValueError, naming the folder, if there are none."""
        self.config: Any = config
        self.encoder, self.batching = encoder, batching
        self.rows = self.open(folder, seed)

    def open(self, folder: Path, seed: int) -> Rows:
        """Return the endless rows of the examples in `folder`, by default shuffled by the seed."""
        return ShuffledRows(folder, self.columns, seed)

    def batch(self, step: int, part: int, rank: int | None = None) -> dict[str, Any]:
        """Return the batch of forward pass `part` of an optimizer step, for this device or for device `rank`."""
        size, parts = self.batching.batch_size, (self.batching.passes if self.can_split else 1) * self.batching.ranks
        table = self.rows.take(step * size, size)
        return self.collate(table, part * self.batching.ranks + (self.batching.rank if rank is None else rank), parts)

    def on_one_device(self) -> Self:
        """Return this stream with one device's share of the rows of each step, as if there were no other devices."""
        stream, batching = copy(self), self.batching
        stream.batching = replace(batching, batch_size=batching.batch_size // batching.ranks, rank=0, ranks=1)
        return stream

    @abstractmethod
    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Return the encoder's batch of the rows in part `part` of `parts`; `table` has all rows of a step."""

    @abstractmethod
    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Any:
        """Encode a batch into what its objectives read: states (B, T, H), or vectors (B, D) by role."""

    def sample_tokens(self, count: int) -> Ints:
        """Return the token ids of the first `count` examples, concatenated."""
        if not self.token_columns:
            raise NotImplementedError(f"{type(self).__name__} has no tokens to count")
        return read_token_columns(self.rows.take(0, min(count, self.rows.rows)), *self.token_columns).tokens


class TokenStream(Stream):
    """Batches of tokens. `lengths` of the rows are plain numbers, which stay on the host."""

    def batch(self, step: int, part: int, rank: int | None = None) -> dict[str, Any]:
        """Return a forward pass's tokens, and as `lengths` a plain list with the number of tokens of each row."""
        tokens = super().batch(step, part, rank)
        return tokens | {"lengths": row_lengths(tokens).tolist()}

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """Encode a batch of tokens into hidden states (B, T, H)."""
        return encoder.transformer.states(dict(batch))


class TextStream(Stream):
    """Batches of texts that are negatives of one another: `texts`, or a `query` and a `document` per row."""

    can_split = False

    def __init__(self, config: StreamConfig, folder: Path, encoder: Encoder, seed: int, batching: Batching) -> None:
        """Raise ValueError if a device gets fewer than two texts."""
        super().__init__(config, folder, encoder, seed, batching)
        if batching.batch_size < 2 * batching.ranks:
            raise ValueError(
                f"{folder.name}: batch_size {batching.batch_size} on {batching.ranks} devices: texts are negatives of "
                "one another, so each device needs at least two; raise batch_size"
            )

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Encode a batch into vectors (B, D) by role. A shared network encodes `texts` once for both roles."""
        if "texts" not in batch:
            return {role: encoder(batch[role], role) for role in ("query", "document")}
        query = encoder(batch["texts"], "query")
        return {"query": query, "document": query if encoder.config.shared else encoder(batch["texts"], "document")}


class TextPairStream(Stream):
    """Batches of two texts per row. Both are encoded as documents, in one call."""

    def collate_documents(self, table: pa.Table, part: int, parts: int) -> tuple[dict[str, Any], Ints]:
        """Return a part's texts as `document`, all first texts before all second ones, and the indices of its rows."""
        first, second = (read_token_columns(table, side) for side in self.token_columns)
        rows = part_rows((first.lengths + second.lengths)[:, 0], part, parts)
        return batch_sides(
            self.encoder, select_rows(first, rows), select_rows(second, rows), self.batching.tokens_at_once
        ), rows

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Encode both texts of each row into vectors (B, D); return them by column."""
        return dict(zip(self.token_columns, encoder(batch["document"], "document").chunk(2), strict=True))


def batch_sides(encoder: Encoder, first: Sentences, second: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """Batch first and second texts together as `document`. Texts of similar length share a chunk, on either side."""
    return {"document": encoder.batch(stack_texts(first, second), "document", tokens_at_once)}


def stack_texts(first: Sentences, second: Sentences) -> Sentences:
    """Return the examples of `first`, followed by those of `second`."""
    return Sentences(np.concatenate([first.tokens, second.tokens]), np.concatenate([first.lengths, second.lengths]))


class MixedBatches(Dataset[dict[str, Any]]):
    """Batches `{stream: batch}` of a run. Item i is forward pass i, counted from the first step of `steps`."""

    def __init__(self, active_streams: Callable[[int], Mapping[str, Stream]], steps: range, passes: int) -> None:
        """`active_streams` maps an optimizer step to its streams."""
        self.active_streams, self.steps, self.passes = active_streams, steps, passes

    def __len__(self) -> int:
        return len(self.steps) * self.passes

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        step, part = self.steps[index // self.passes], index % self.passes
        streams = self.active_streams(step).items()
        return {name: stream.batch(step, part) for name, stream in streams if part == 0 or stream.can_split}


def part_rows(lengths: Ints, part: int, parts: int) -> Ints:
    """Return the sorted indices of the rows in part `part` of `parts`. Each part gets rows of all lengths."""
    return np.sort(np.argsort(lengths, kind="stable")[part::parts])


def read_token_columns(table: pa.Table, *columns: str) -> Sentences:
    """Convert columns of token id lists to one text per row, with one segment per column."""
    arrays = [pa.chunked_array(table[column]).combine_chunks() for column in columns]
    lengths = np.stack([np.diff(array.offsets.to_numpy()) for array in arrays], axis=1).astype(np.int64)
    if len(arrays) == 1:
        return Sentences(arrays[0].flatten().to_numpy().astype(np.int64), lengths)
    starts = [array.offsets.to_numpy() for array in arrays]
    values = [array.values.to_numpy() for array in arrays]
    rows = range(len(table))
    parts = [v[s[row] : s[row + 1]] for row in rows for v, s in zip(values, starts, strict=True)]
    return Sentences(np.concatenate(parts).astype(np.int64), lengths)


def factorize(column: pa.ChunkedArray) -> Tensor:
    """Return codes (B,) of a column's values; equal values get equal codes."""
    codes = pa.chunked_array(column).combine_chunks().dictionary_encode().indices.to_numpy()
    return torch.from_numpy(codes.astype(np.int64))


def combine_needs(streams: Mapping[str, StreamConfig], lengths: Lengths) -> TableSizes:
    """Return the numbers of positions and token types that suffice for the batches of all streams."""
    return reduce(or_, (config.needs(lengths) for config in streams.values()), TableSizes())
