"""The stream of parallel sentences."""

from typing import Any

import numpy as np
import pyarrow as pa
import torch

from contexture.streams.base import TextPairStream, TextStream

SIDES = ("source", "target")


class Bitext(TextPairStream, TextStream):
    """Parallel sentences: `document`, and `ids` (B, 2), equal for equal sentences."""

    columns = (*SIDES, *(f"{side}_id" for side in SIDES))
    token_columns = SIDES

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's sentence pairs as `document`, with `ids` (B, 2), equal for equal sentences."""
        batch, rows = self.collate_documents(table, part, parts)
        ids = np.stack([table[f"{side}_id"].to_numpy()[rows] for side in SIDES], axis=1)
        return batch | {"ids": torch.from_numpy(ids)}
