"""CMLM's batches: pairs of consecutive sequences, or both sequences of each pair as separate texts."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import row_lengths, select_rows, text_layout
from contexture.streams.base import Stream, TokenStream, part_rows, read_token_columns, stack_texts


class SequencePairs(Stream):
    """Pairs of sequences: `texts`, the first ones, and `second`, tokens in the same order; see `text_layout`."""

    columns = ("first", "second")
    token_columns = ("second",)

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's pairs: `texts`, the first sequences, and `second`, the tokens of the second ones."""
        first, second = read_token_columns(table, "first"), read_token_columns(table, "second")
        rows = part_rows((first.lengths + second.lengths)[:, 0], part, parts)
        tokens = text_layout(select_rows(second, rows), self.encoder.specials, self.encoder.lengths.document)
        return {
            "texts": self.encoder.batch(select_rows(first, rows), "document", self.batching.tokens_at_once),
            # Plain numbers stay on the host.
            "second": tokens | {"lengths": row_lengths(tokens).tolist()},
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> Tensor:
        """Encode the first sequences into pooled states (B, H)."""
        return encoder.pooled_states(batch["texts"])


class Sequences(TokenStream):
    """Both sequences of each pair as separate texts: a batch of B pairs has 2·B rows of tokens.

    So a baseline reads the text that CMLM reads, in as many steps.
    """

    columns = ("first", "second")
    token_columns = ("first", "second")

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch the tokens of a part's pairs: all first sequences before all second ones."""
        first, second = (read_token_columns(table, column) for column in self.columns)
        rows = part_rows((first.lengths + second.lengths)[:, 0], part, parts)
        texts = stack_texts(select_rows(first, rows), select_rows(second, rows))
        return text_layout(texts, self.encoder.specials, self.encoder.lengths.document)
