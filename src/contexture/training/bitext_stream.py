"""The stream of parallel sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, Sentences, select
from contexture.training.config import BitextStreamConfig
from contexture.training.data import ShuffledRows
from contexture.training.streams import Steps, TextStream, dealt, parts_of

SIDES = ("source", "target")


class Bitext(TextStream):
    """Sentences and their translations, encoded alike: as documents, all sides of a batch in one pass.

    A batch has them as `document`, the sources in front, and `ids` (B, 2), the same where a source or a target is the
    same sentence.
    """

    def __init__(self, config: BitextStreamConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, [*SIDES, *(f"{side}_id" for side in SIDES)], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        source, target = (parts_of(table, side) for side in SIDES)
        mine = dealt((source.lengths + target.lengths)[:, 0], place, places)
        ids = np.stack([table[f"{side}_id"].to_numpy()[mine] for side in SIDES], axis=1)
        return bitext_batch(self.encoder, select(source, mine), select(target, mine), self.steps.tokens_at_once) | {
            "ids": torch.from_numpy(ids)
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Vectors (B, D) by side."""
        return dict(zip(SIDES, encoder(batch["document"], "document").chunk(2), strict=True))

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        table = self.rows.take(0, min(count, self.rows.rows))
        return np.concatenate([parts_of(table, side).tokens for side in SIDES])


def bitext_batch(encoder: Encoder, source: Sentences, target: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """Both sides as the encoder reads them, texts of like length together whichever side they are of."""
    both = Sentences(np.concatenate([source.tokens, target.tokens]), np.concatenate([source.lengths, target.lengths]))
    return {"document": encoder.batch(both, "document", tokens_at_once)}
