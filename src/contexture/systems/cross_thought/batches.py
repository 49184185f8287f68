"""Cross-Thought's batches: samples of sequences that attend to one another; or their sequences alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, Sentences, text_layout
from contexture.systems.cross_thought.config import SequenceSamplesConfig, ShortSequencesConfig
from contexture.training.data import ShuffledRows
from contexture.training.streams import Rows, Steps, Stream, TokenStream, dealt


class SequenceSamples(Stream):
    """`sequences`, texts in chunks of like length, and where they stand: `grid` (S,), a place in (samples × M).

    `present` (B, M) tells which places are taken; `documents` (B, M) numbers the documents that may not attend to one
    another, all 0 where everything attends to everything.
    """

    def __init__(self, config: SequenceSamplesConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.config, self.limit = config, limit_of(config, encoder)
        self.rows = ShuffledRows(folder, ["pieces"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        sequences, samples, pieces = cut_sequences(_dealt(table, place, places), self.config.length)
        counts = np.bincount(samples)
        within = np.arange(len(samples)) - np.repeat(np.cumsum(counts) - counts, counts)
        present = np.arange(counts.max()) < counts[:, None]
        documents = np.zeros(present.shape, np.int64)
        if self.config.attends == "document":
            documents[samples, within] = pieces
        chunks, rows = self.encoder.document.chunks(sequences, self.limit, self.steps.tokens_at_once)
        return {
            "sequences": {"chunks": chunks, "rows": rows},
            "grid": torch.from_numpy(samples * present.shape[1] + within),
            "present": torch.from_numpy(present),
            "documents": torch.from_numpy(documents),
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> list[Tensor]:
        """Hidden states (B, T, H) of each chunk of sequences."""
        return encoder.sequence_states(batch["sequences"]["chunks"])

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return _sample(self.rows, self.config, count)


class ShortSequences(TokenStream):
    """The same sequences as batches of tokens; a row of examples gives all of its sample."""

    def __init__(self, config: ShortSequencesConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.config, self.limit = config, limit_of(config, encoder)
        self.rows = ShuffledRows(folder, ["pieces"], seed)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        sequences, _, _ = cut_sequences(_dealt(table, place, places), self.config.length)
        return text_layout(sequences, self.encoder.specials, self.limit)

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return _sample(self.rows, self.config, count)


def limit_of(config: ShortSequencesConfig, encoder: Encoder) -> int:
    """Tokens of a sequence, special ones included; ValueError where the table of positions is too short for it."""
    limit = config.length + len(encoder.specials.more) + 2
    if limit > config.positions:
        raise ValueError(
            f"sequences of {config.length} tokens and {limit - config.length} special ones do not fit into "
            f"{config.positions} positions: raise the stream's positions, or lower its tokens"
        )
    return limit


def cut_sequences(pieces: pa.ListArray, length: int) -> tuple[Sentences, Ints, Ints]:
    """Pieces of samples → their sequences of `length` tokens, the last of each piece perhaps shorter.

    Also the sample (S,) and the piece (S,) of each sequence, both counted from 0.
    """
    tokens = pieces.flatten()
    sizes, per_sample = np.diff(tokens.offsets.to_numpy()), np.diff(pieces.offsets.to_numpy())
    counts = -(-sizes // length)
    piece = np.repeat(np.arange(len(sizes)), counts)
    last = np.cumsum(counts) - 1
    lengths = np.full(len(piece), length, np.int64)
    lengths[last] = sizes - (counts - 1) * length
    sample = np.repeat(np.arange(len(per_sample)), per_sample)[piece]
    return Sentences(tokens.flatten().to_numpy().astype(np.int64), lengths[:, None]), sample, piece


def _dealt(table: pa.Table, place: int, places: int) -> pa.ListArray:
    """The samples that come to a place."""
    pieces = table["pieces"].combine_chunks()
    sizes = np.diff(pieces.flatten().offsets.to_numpy())
    bounds = pieces.offsets.to_numpy() - pieces.offsets.to_numpy()[0]
    totals = np.add.reduceat(sizes, bounds[:-1])
    return pieces.take(pa.array(dealt(totals, place, places)))


def _sample(rows: Rows, config: ShortSequencesConfig, count: int) -> Ints:
    """The tokens of as many samples as have about `count` sequences."""
    some = rows.take(0, min(rows.rows, max(1, count // config.sampling.sequences)))
    tokens: Ints = some["pieces"].combine_chunks().flatten().flatten().to_numpy().astype(np.int64)
    return tokens
