"""CMLM's batches: two consecutive sequences, one for its vector, one for its tokens; or the second alone."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import row_lengths, select, text_layout
from contexture.streams.base import Stream, TokenStream, part_rows, read_token_columns


class SequencePairs(Stream):
    """`texts`, the first sequences, and `second`, tokens of `text_layout`; a row of one belongs to the other's."""

    columns = ("first", "second")
    texts = ("second",)

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        first, second = read_token_columns(table, "first"), read_token_columns(table, "second")
        mine = part_rows((first.lengths + second.lengths)[:, 0], part, parts)
        tokens = text_layout(select(second, mine), self.encoder.specials, self.encoder.lengths.document)
        return {
            "texts": self.encoder.batch(select(first, mine), "document", self.batching.tokens_at_once),
            # As plain numbers lengths stay on the host.
            "second": tokens | {"lengths": row_lengths(tokens).tolist()},
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """Pooled states (B, H) of the first sequences."""
        return encoder.pooled(batch["texts"])


class Sequences(TokenStream):
    """The second sequences as batches of tokens."""

    columns = ("second",)
    texts = ("second",)

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        texts = read_token_columns(table, "second")
        mine = part_rows(texts.lengths[:, 0], part, parts)
        return text_layout(select(texts, mine), self.encoder.specials, self.encoder.lengths.document)
