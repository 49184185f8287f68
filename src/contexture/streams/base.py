"""Streams: the kinds of batches that objectives read, each a function of (seed, step) alone.

A step takes one batch of every stream that is active. Rows of one optimizer step are dealt out to its passes and
devices; a batch whose texts are negatives of one another stays whole on its device, and comes in the first pass.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.data import Dataset

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths, Needs
from contexture.encoders.layout import Ints, Sentences, row_lengths, select
from contexture.streams.base_config import StreamConfig
from contexture.streams.rows import Rows, ShuffledRows


@dataclass(frozen=True)
class Batching:
    """How the rows of a stream make up the batches of a run.

    Attributes:
        batch_size: rows of an optimizer step, over all devices.
        passes: forward passes of an optimizer step.
        rank: this device among …
        ranks: … so many.
        tokens_at_once: tokens, padding included, that are encoded at a time.
    """

    batch_size: int
    passes: int = 1
    rank: int = 0
    ranks: int = 1
    tokens_at_once: int = 16384


class Stream(ABC):
    """One kind of batch, from one folder of examples, for one encoder."""

    #: Whether rows are independent of one another, so that a step can be taken in several passes.
    splits: ClassVar[bool] = True
    #: Columns of its examples that it reads.
    columns: ClassVar[tuple[str, ...]] = ()
    #: Those with the token ids that `sample` returns.
    texts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, config: StreamConfig, folder: Path, encoder: Encoder, seed: int, batching: Batching) -> None:
        """Open the examples. Raises FileNotFoundError or ValueError where there are none, naming the folder."""
        self.config: Any = config
        self.encoder, self.batching = encoder, batching
        self.rows = self.open(folder, seed)

    def open(self, folder: Path, seed: int) -> Rows:
        """The rows of its examples."""
        return ShuffledRows(folder, self.columns, seed)

    def batch(self, step: int, part: int, rank: int | None = None) -> dict[str, Any]:
        """The batch of pass `part` of an optimizer step, on this device or on that of a rank."""
        size, parts = self.batching.batch_size, (self.batching.passes if self.splits else 1) * self.batching.ranks
        table = self.rows.take(step * size, size)
        return self.collate(table, part * self.batching.ranks + (self.batching.rank if rank is None else rank), parts)

    @abstractmethod
    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Part `part` of `parts` of the rows of a step, as the encoder reads it."""

    @abstractmethod
    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Any:
        """What objectives judge: states (B, T, H), or vectors (B, D) by role."""

    def sample(self, count: int) -> Ints:
        """The token ids of the first `count` examples."""
        if not self.texts:
            raise NotImplementedError(f"{type(self).__name__} has no tokens to count")
        return read_token_columns(self.rows.take(0, min(count, self.rows.rows)), *self.texts).tokens


class TokenStream(Stream):
    """A stream of batches of tokens, with the `lengths` of their rows as plain numbers, which stay on the host."""

    def batch(self, step: int, part: int, rank: int | None = None) -> dict[str, Any]:
        """See `Stream.batch`."""
        tokens = super().batch(step, part, rank)
        return tokens | {"lengths": row_lengths(tokens).tolist()}

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """States (B, T, H)."""
        return encoder.states(dict(batch))


class TextStream(Stream):
    """A stream of batches of texts, negatives of one another: `texts`, or a `query` and a `document` each."""

    splits = False

    def __init__(self, config: StreamConfig, folder: Path, encoder: Encoder, seed: int, batching: Batching) -> None:
        """ValueError for a batch without a negative."""
        super().__init__(config, folder, encoder, seed, batching)
        if batching.batch_size < 2 * batching.ranks:
            raise ValueError(
                f"{folder.name}: batch_size {batching.batch_size} on {batching.ranks} devices: texts are negatives of one "
                "another, each device needs two at least"
            )

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Vectors (B, D) by role; a text that both roles read is encoded once where one network plays both."""
        if "texts" not in batch:
            return {role: encoder(batch[role], role) for role in ("query", "document")}
        query = encoder(batch["texts"], "query")
        return {"query": query, "document": query if encoder.config.shared else encoder(batch["texts"], "document")}


class TextPairStream(Stream):
    """A stream of batches of two `texts` a row, both encoded as documents, all texts of a batch in one pass."""

    def document(self, table: pa.Table, part: int, parts: int) -> tuple[dict[str, Any], Ints]:
        """The batch's `document`, the first sides in front, and which rows come to the part."""
        first, second = (read_token_columns(table, side) for side in self.texts)
        mine = part_rows((first.lengths + second.lengths)[:, 0], part, parts)
        return batch_sides(self.encoder, select(first, mine), select(second, mine), self.batching.tokens_at_once), mine

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Vectors (B, D) by side."""
        return dict(zip(self.texts, encoder(batch["document"], "document").chunk(2), strict=True))


def batch_sides(encoder: Encoder, first: Sentences, second: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """Two texts a row as the encoder reads them, texts of like length together whichever side they are of."""
    both = Sentences(np.concatenate([first.tokens, second.tokens]), np.concatenate([first.lengths, second.lengths]))
    return {"document": encoder.batch(both, "document", tokens_at_once)}


class MixedBatches(Dataset[dict[str, Any]]):
    """A run's batches `{stream: batch}`; item i is forward pass i, counted from the first of `steps`."""

    def __init__(self, streams_at: Callable[[int], Mapping[str, Stream]], steps: range, passes: int) -> None:
        """`streams_at`: optimizer step → the streams that are read there."""
        self.streams_at, self.batching, self.passes = streams_at, steps, passes

    def __len__(self) -> int:
        return len(self.batching) * self.passes

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        step, part = self.batching[index // self.passes], index % self.passes
        streams = self.streams_at(step).items()
        return {name: stream.batch(step, part) for name, stream in streams if part == 0 or stream.splits}


def part_rows(lengths: Ints, part: int, parts: int) -> Ints:
    """The rows that come to a part, of rows of these lengths (B,): all parts have rows of all lengths."""
    return np.sort(np.argsort(lengths, kind="stable")[part::parts])


def read_token_columns(table: pa.Table, *columns: str) -> Sentences:
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


def factorize(column: pa.ChunkedArray) -> Tensor:
    """Equal values of a column get equal numbers, (B,)."""
    codes = pa.chunked_array(column).combine_chunks().dictionary_encode().indices.to_numpy()
    return torch.from_numpy(codes.astype(np.int64))


def combine_needs(streams: Mapping[str, StreamConfig], lengths: Lengths) -> Needs:
    """Positions and token types that all streams together need."""
    return reduce(or_, (config.needs(lengths) for config in streams.values()), Needs())
