"""MSPP's batches: a sentence and k candidates in one input."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, Sentences, joint_layout, select
from contexture.streams.base import Steps, TokenStream, dealt
from contexture.streams.joint.config import JointConfig
from contexture.streams.rows import ShuffledRows


class Joint(TokenStream):
    """Batches of `joint_layout`, with `labels` (B, k)."""

    def __init__(self, config: JointConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.layout = config.layout
        self.rows = ShuffledRows(folder, ["sentences", "labels"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        sentences, labels = joint_examples(table, self.layout.candidates)
        mine = dealt(sentences.lengths.sum(axis=1), place, places)
        batch = joint_layout(select(sentences, mine), self.encoder.specials, self.layout)
        return batch | {"labels": torch.from_numpy(labels[mine])}

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return joint_examples(self.rows.take(0, min(self.rows.rows, count)), self.layout.candidates)[0].tokens


def joint_examples(table: pa.Table, candidates: int) -> tuple[Sentences, npt.NDArray[np.int64]]:
    """Columns `sentences` (lists of k+1 lists of ids) and `labels` (lists of k) → arrays."""
    sentences = pa.chunked_array(table["sentences"]).combine_chunks()
    inner = sentences.flatten()
    lengths = np.diff(inner.offsets.to_numpy()).astype(np.int64)
    labels = pa.chunked_array(table["labels"]).combine_chunks().flatten().to_numpy().astype(np.int64)
    if len(lengths) != len(table) * (candidates + 1) or len(labels) != len(table) * candidates:
        raise ValueError(
            f"the examples do not hold {candidates} candidates each, as streams.joint.sampling says: "
            "run the examples stage again with these parameters"
        )
    tokens = inner.flatten().to_numpy().astype(np.int64)
    return Sentences(tokens, lengths.reshape(-1, candidates + 1)), labels.reshape(-1, candidates)
