"""Streams of sentences in corpus order or in random order."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Sentences, select_rows, word_layout
from contexture.streams.base import TextStream, factorize, read_token_columns
from contexture.streams.rows import OrderedRows
from contexture.streams.sentences.config import ContiguousConfig


class Contiguous(TextStream):
    """Sentences in corpus order, the same for every seed. Each device gets a contiguous range of a step's sentences.

    Batches have `texts`; `words`, the sentences without special tokens; `document_numbers` and `positions` (R·B,) of
    the sentences of all devices; and `first`, the index of this device's first sentence among them.
    """

    config: ContiguousConfig
    columns = ("document", "position", "tokens")
    token_columns = ("tokens",)

    def open(self, folder: Path, seed: int) -> OrderedRows:
        """Return the endless sentences in file order; ValueError if there are fewer than `batch_size`."""
        rows = OrderedRows(folder, self.columns, seed)
        if rows.rows < self.batching.batch_size:
            raise ValueError(
                f"{folder}: {rows.rows} sentences are fewer than batch_size {self.batching.batch_size}; "
                "add text or lower batch_size"
            )
        return rows

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's contiguous sentences, with the documents and positions of all the step's sentences."""
        size = len(table) // parts
        rows = np.arange(part * size, (part + 1) * size)
        documents, positions = factorize(table["document"]), torch.from_numpy(table["position"].to_numpy().astype("i8"))
        if self.config.boundaries == "cross":
            documents, positions = torch.zeros(len(table), dtype=torch.int64), torch.arange(len(table))
        sentences = select_rows(read_token_columns(table, "tokens"), rows)
        return sentence_batch(self.encoder, sentences, self.batching.tokens_at_once) | {
            "document_numbers": documents,
            "positions": positions,
            "first": torch.tensor(part * size),
        }


class ShuffledSentences(TextStream):
    """Sentences in random order: `texts`, and `words`, the sentences without special tokens."""

    columns = ("tokens",)
    token_columns = ("tokens",)

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's sentences as `texts` and `words`."""
        sentences = select_rows(read_token_columns(table, "tokens"), np.arange(part, len(table), parts))
        return sentence_batch(self.encoder, sentences, self.batching.tokens_at_once)


def sentence_batch(encoder: Encoder, sentences: Sentences, tokens_at_once: int) -> dict[str, Any]:
    """Return `texts`, for the encoder, and `words` (B, T), without special tokens, in the same order."""
    words = word_layout(sentences, encoder.vocabulary.tokens.pad, encoder.lengths.document)
    return {"texts": encoder.batch(sentences, "document", tokens_at_once), "words": words}
