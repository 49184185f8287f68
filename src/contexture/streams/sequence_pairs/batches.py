"""CMLM's batches: two consecutive sequences, one for its vector, one for its tokens; or the second alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, row_lengths, select, text_layout
from contexture.streams.base import Rows, Steps, Stream, TokenStream, dealt, parts_of
from contexture.streams.rows import ShuffledRows
from contexture.streams.sequence_pairs.config import SequencePairsConfig


class SequencePairs(Stream):
    """`texts`, the first sequences, and `second`, tokens of `text_layout`; a row of one belongs to the other's."""

    def __init__(self, config: SequencePairsConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, ["first", "second"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        first, second = parts_of(table, "first"), parts_of(table, "second")
        mine = dealt((first.lengths + second.lengths)[:, 0], place, places)
        tokens = text_layout(select(second, mine), self.encoder.specials, self.encoder.lengths.document)
        return {
            "texts": self.encoder.batch(select(first, mine), "document", self.steps.tokens_at_once),
            # Plain numbers: nobody waits for a GPU to learn them.
            "second": tokens | {"lengths": row_lengths(tokens).tolist()},
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """Pooled states (B, H) of the first sequences."""
        return encoder.pooled(batch["texts"])

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return _sample(self.rows, count)


class Sequences(TokenStream):
    """The second sequences as batches of tokens."""

    def __init__(self, config: SequencePairsConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, ["second"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        texts = parts_of(table, "second")
        mine = dealt(texts.lengths[:, 0], place, places)
        return text_layout(select(texts, mine), self.encoder.specials, self.encoder.lengths.document)

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return _sample(self.rows, count)


def _sample(rows: Rows, count: int) -> Ints:
    return parts_of(rows.take(0, min(rows.rows, count)), "second").tokens
