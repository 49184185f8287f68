"""Streams of sentences: in the order of the corpus, or shuffled."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, Sentences, select, word_layout
from contexture.streams.base import Steps, TextStream, numbers, parts_of
from contexture.streams.rows import OrderedRows, ShuffledRows
from contexture.streams.sentences.config import ContiguousConfig, SentencesConfig


class Contiguous(TextStream):
    """Runs of sentences in the order of the corpus, the same for every seed; each device has a run of its own.

    Beside `texts`: `document_numbers` and `positions` (R·B,), of the sentences of all devices, `first`, the place of
    this device's first one among them, and `words`, the sentences as they are, without special tokens.
    """

    def __init__(self, config: ContiguousConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.boundaries = config.boundaries
        self.rows = OrderedRows(folder, ["document", "position", "tokens"])
        if self.rows.rows < steps.batch_size:
            raise ValueError(
                f"{folder}: {self.rows.rows} sentences are fewer than a batch of {steps.batch_size}: give more text, "
                "or a smaller batch_size"
            )

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        size = len(table) // places
        mine = np.arange(place * size, (place + 1) * size)
        documents, positions = numbers(table["document"]), torch.from_numpy(table["position"].to_numpy().astype("i8"))
        if self.boundaries == "cross":
            documents, positions = torch.zeros(len(table), dtype=torch.int64), torch.arange(len(table))
        sentences = select(parts_of(table, "tokens"), mine)
        return sentence_batch(self.encoder, sentences, self.steps.tokens_at_once) | {
            "document_numbers": documents,
            "positions": positions,
            "first": torch.tensor(place * size),
        }

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return parts_of(self.rows.take(0, min(count, self.rows.rows)), "tokens").tokens


class ShuffledSentences(TextStream):
    """Sentences drawn at random: `texts` and `words`, as above."""

    def __init__(self, config: SentencesConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.rows = ShuffledRows(folder, ["tokens"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        sentences = parts_of(table, "tokens")
        mine = select(sentences, np.arange(place, len(table), places))
        return sentence_batch(self.encoder, mine, self.steps.tokens_at_once)

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return parts_of(self.rows.take(0, min(count, self.rows.rows)), "tokens").tokens


def sentence_batch(encoder: Encoder, sentences: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """`texts`, which the encoder reads, and `words` (B, T), the same without special tokens, in the batch's order."""
    words = word_layout(sentences, encoder.vocabulary.tokens.pad, encoder.lengths.document)
    return {"texts": encoder.batch(sentences, "document", tokens_at_once), "words": words}
