"""Batches of the toy stream."""

from typing import Any

import numpy as np
import pyarrow as pa

from contexture.encoders.layout import select_rows
from contexture.streams.base import TextStream, parts_of


class ToyStream(TextStream):
    """`texts`: sentences in random order."""

    columns = ("tokens",)
    texts = ("tokens",)

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        sentences = select_rows(parts_of(table, "tokens"), np.arange(part, len(table), parts))
        return {"texts": self.encoder.batch(sentences, "document", self.steps.tokens_at_once)}
