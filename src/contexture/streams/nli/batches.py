"""The stream of premises and hypotheses in different languages."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.base import Encoder
from contexture.streams.base import SidedStream, Steps
from contexture.streams.nli.config import NliStreamConfig
from contexture.streams.rows import ShuffledRows


class Nli(SidedStream):
    """`document`, the premises in front, and `labels` (B,)."""

    sides: ClassVar[tuple[str, str]] = ("premise", "hypothesis")

    def __init__(self, config: NliStreamConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, [*self.sides, "label"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        batch, mine = self.document(table, place, places)
        return batch | {"labels": torch.from_numpy(table["label"].to_numpy()[mine].astype(np.int64))}
