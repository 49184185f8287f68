"""MSPP's batches: a sentence and k candidates in one input."""

from typing import Any

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.layout import Ints, Sentences, joint_layout, select_rows
from contexture.streams.base import TokenStream, part_rows
from contexture.streams.joint.config import JointConfig


class Joint(TokenStream):
    """Batches of `joint_layout`, with `labels` (B, k)."""

    config: JointConfig
    columns = ("sentences", "labels")

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's examples, a sentence and its k candidates in one input each, with `labels` (B, k)."""
        sentences, labels = joint_examples(table, self.config.layout.candidates)
        rows = part_rows(sentences.lengths.sum(axis=1), part, parts)
        batch = joint_layout(select_rows(sentences, rows), self.encoder.specials, self.config.layout)
        return batch | {"labels": torch.from_numpy(labels[rows])}

    def sample_tokens(self, count: int) -> Ints:
        """Return the token ids of sentences and candidates of the first `count` examples, concatenated."""
        return joint_examples(self.rows.take(0, min(self.rows.rows, count)), self.config.layout.candidates)[0].tokens


def joint_examples(table: pa.Table, candidates: int) -> tuple[Sentences, Ints]:
    """Return `sentences` (k+1 lists of ids per row) and `labels` (k per row) of a table as arrays."""
    sentences = table["sentences"].combine_chunks().flatten()
    lengths = np.diff(sentences.offsets.to_numpy()).astype(np.int64)
    labels = table["labels"].combine_chunks().flatten().to_numpy().astype(np.int64)
    if len(lengths) != len(table) * (candidates + 1) or len(labels) != len(table) * candidates:
        raise ValueError(
            f"streams.joint.sampling: the examples do not have {candidates} candidates each; "
            "run the examples stage again with these parameters"
        )
    tokens = sentences.flatten().to_numpy().astype(np.int64)
    return Sentences(tokens, lengths.reshape(-1, candidates + 1)), labels.reshape(-1, candidates)
