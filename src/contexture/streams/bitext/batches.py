"""The stream of parallel sentences."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.base import Encoder
from contexture.streams.base import SidedStream, Steps, TextStream
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.streams.rows import ShuffledRows

SIDES = ("source", "target")


class Bitext(SidedStream, TextStream):
    """Sentences and their translations: `document`, and `ids` (B, 2), the same where a sentence is."""

    sides: ClassVar[tuple[str, str]] = SIDES

    def __init__(self, config: BitextStreamConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, [*SIDES, *(f"{side}_id" for side in SIDES)], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        batch, mine = self.document(table, place, places)
        ids = np.stack([table[f"{side}_id"].to_numpy()[mine] for side in SIDES], axis=1)
        return batch | {"ids": torch.from_numpy(ids)}
