"""Batches of the toy stream."""

from typing import Any

import numpy as np
import pyarrow as pa

from contexture.encoders.layout import select_rows
from contexture.streams.base import TextStream, read_token_columns


class ToyStream(TextStream):
    """Sentences in random order: `texts`."""

    columns = ("tokens",)
    token_columns = ("tokens",)

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        sentences = select_rows(read_token_columns(table, "tokens"), np.arange(part, len(table), parts))
        return {"texts": self.encoder.batch(sentences, "document", self.batching.tokens_at_once)}
