"""The stream of premises and hypotheses in different languages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, select
from contexture.training.bitext_stream import bitext_batch
from contexture.training.config import NliStreamConfig
from contexture.training.data import ShuffledRows
from contexture.training.streams import Steps, Stream, dealt, parts_of

SIDES = ("premise", "hypothesis")


class Nli(Stream):
    """`document`, all sides of a batch as documents, the premises in front, and `labels` (B,)."""

    def __init__(self, config: NliStreamConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, [*SIDES, "label"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        premise, hypothesis = (parts_of(table, side) for side in SIDES)
        mine = dealt((premise.lengths + hypothesis.lengths)[:, 0], place, places)
        sides = select(premise, mine), select(hypothesis, mine)
        labels = torch.from_numpy(table["label"].to_numpy()[mine].astype(np.int64))
        return bitext_batch(self.encoder, *sides, self.steps.tokens_at_once) | {"labels": labels}

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Vectors (B, D) by side."""
        return dict(zip(SIDES, encoder(batch["document"], "document").chunk(2), strict=True))

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        table = self.rows.take(0, min(count, self.rows.rows))
        return np.concatenate([parts_of(table, side).tokens for side in SIDES])
