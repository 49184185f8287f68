"""The stream of premises and hypotheses in different languages."""

from typing import Any

import numpy as np
import pyarrow as pa
import torch

from contexture.streams.base import TextPairStream


class Nli(TextPairStream):
    """Premises and hypotheses: `document`, premises first, and `labels` (B,)."""

    columns = ("premise", "hypothesis", "label")
    token_columns = ("premise", "hypothesis")

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's premises and hypotheses as `document`, with their `labels` (B,)."""
        batch, rows = self.collate_documents(table, part, parts)
        return batch | {"labels": torch.from_numpy(table["label"].to_numpy()[rows].astype(np.int64))}
