"""Batches of the toy stream."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from contexture.streams.toy.config import ToyStreamConfig

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, select
from contexture.streams.base import Steps, TextStream, parts_of
from contexture.streams.rows import ShuffledRows


class ToyStream(TextStream):
    """`texts`: sentences in random order."""

    def __init__(self, config: ToyStreamConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, ["tokens"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        sentences = select(parts_of(table, "tokens"), np.arange(place, len(table), places))
        return {"texts": self.encoder.batch(sentences, "document", self.steps.tokens_at_once)}

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return parts_of(self.rows.take(0, min(count, self.rows.rows)), "tokens").tokens
