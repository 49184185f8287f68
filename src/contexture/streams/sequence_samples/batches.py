"""Cross-Thought's batches: samples of sequences that attend to one another, or single sequences."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import Ints, Sentences, text_layout
from contexture.streams.base import Batching, Stream, TokenStream, part_rows
from contexture.streams.rows import Rows
from contexture.streams.sequence_samples.config import SampleSampling, SequenceSamplesConfig, ShortSequencesConfig

#: Number of sequences in which frequent tokens are counted.
NUM_COUNTED_SEQUENCES = 5_000
#: A token in a larger share of sequences is too frequent to be informative and does not count as shared.
MAX_SEQUENCE_SHARE = 0.02


@dataclass(frozen=True)
class CutSamples:
    """The S sequences of a batch of samples.

    Attributes:
        sequences: their tokens.
        samples: (S,) index of each sequence's sample, ascending from 0.
        documents: (S,) index of each sequence's piece of text, and so of its document.
    """

    sequences: Sentences
    samples: Ints
    documents: Ints


class _SampleStream(Stream):
    """Base of the streams of samples."""

    config: ShortSequencesConfig
    columns = ("pieces",)

    def __init__(
        self, config: ShortSequencesConfig, folder: Path, encoder: Encoder, seed: int, batching: Batching
    ) -> None:
        """Raise ValueError if a sequence with its special tokens does not fit into the table of positions."""
        super().__init__(config, folder, encoder, seed, batching)
        self.limit = config.length + len(encoder.specials.extra) + 2
        if self.limit > config.positions:
            raise ValueError(
                f"sequences of {config.length} tokens and {self.limit - config.length} special ones do not fit into "
                f"{config.positions} positions; raise the stream's positions or lower its tokens"
            )
        if config.maskable == "shared":
            self.frequent = frequent_tokens(self.rows, config.sampling, encoder.vocabulary.tokens.vocab_size)

    def cut(self, table: pa.Table, part: int, parts: int) -> CutSamples:
        """Cut the samples in part `part` of `parts` into sequences."""
        pieces = table["pieces"].combine_chunks()
        sizes = np.diff(pieces.flatten().offsets.to_numpy())
        bounds = pieces.offsets.to_numpy() - pieces.offsets.to_numpy()[0]
        totals = np.add.reduceat(sizes, bounds[:-1])
        return cut_samples(pieces.take(pa.array(part_rows(totals, part, parts))), self.config)

    def maskable(self, cut: CutSamples, width: int) -> Tensor:
        """Return a mask (S, width) of the tokens that may be masked. Special tokens come first in a row."""
        lengths = cut.sequences.lengths[:, 0]
        table = np.zeros((len(lengths), width), np.bool_)
        row = np.repeat(np.arange(len(lengths)), lengths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        table[row, 1 + len(self.encoder.specials.extra) + column] = shared_tokens(cut, self.frequent)
        return torch.from_numpy(table)

    def sample_tokens(self, count: int) -> Ints:
        """Return the maskable token ids of the first samples, which have about `count` sequences."""
        samples = min(self.rows.rows, max(1, count // self.config.sampling.sequences))
        cut = cut_samples(self.rows.take(0, samples)["pieces"].combine_chunks(), self.config)
        tokens: Ints = cut.sequences.tokens
        return tokens if self.config.maskable == "any" else tokens[shared_tokens(cut, self.frequent)]


class SequenceSamples(_SampleStream):
    """Samples: `sequences`, texts in chunks of similar length, and `grid` (S,), their cells in a table (samples × M).

    `present` (B, M) is false for empty cells. A sequence attends to sequences with its number in `groups` (B, M), and
    to itself if `to_itself`. `documents` (B, M) numbers the documents. With `maskable: shared`, chunks have `maskable`
    (B, T), true for tokens that may be masked; see `shared_tokens`.
    """

    config: SequenceSamplesConfig

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch a part's samples: their sequences, and who attends to whom, as the class describes."""
        cut = self.cut(table, part, parts)
        counts = np.bincount(cut.samples)
        within = np.arange(len(cut.samples)) - np.repeat(np.cumsum(counts) - counts, counts)
        present = np.arange(counts.max()) < counts[:, None]
        documents = np.zeros(present.shape, np.int64)
        documents[cut.samples, within] = cut.documents
        chunks, rows = self.encoder.document.chunks(cut.sequences, self.limit, self.batching.tokens_at_once)
        if self.config.maskable == "shared":
            widths = [chunk["input_ids"].shape[1] for chunk in chunks]
            maskable = self.maskable(cut, max(widths))[rows.argsort()]
            tables = torch.split(maskable, [len(chunk["input_ids"]) for chunk in chunks])
            chunks = [
                chunk | {"maskable": part[:, :width]} for chunk, part, width in zip(chunks, tables, widths, strict=True)
            ]
        return {
            "sequences": {"chunks": chunks, "rows": rows},
            "grid": torch.from_numpy(cut.samples * present.shape[1] + within),
            "present": torch.from_numpy(present),
            "documents": torch.from_numpy(documents),
            "groups": torch.from_numpy(documents if self.config.attends == "document" else np.zeros_like(documents)),
            "to_itself": self.config.attends != "others",
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> list[Tensor]:
        """Encode sequences into hidden states (B, T, H) of each chunk."""
        return encoder.sequence_states(batch["sequences"]["chunks"])


class ShortSequences(_SampleStream, TokenStream):
    """The sequences as batches of tokens, with `maskable` (B, T) if shared. One example row is one sample."""

    def collate(self, table: pa.Table, part: int, parts: int) -> dict[str, Any]:
        """Batch the tokens of a part's sequences, with `maskable` (B, T) if shared."""
        cut = self.cut(table, part, parts)
        batch = text_layout(cut.sequences, self.encoder.specials, self.limit)
        if self.config.maskable == "any":
            return batch
        return batch | {"maskable": self.maskable(cut, batch["input_ids"].shape[1])}


def cut_samples(pieces: pa.ListArray, config: ShortSequencesConfig) -> CutSamples:
    """Cut the pieces of samples into sequences; the last of each piece may be shorter.

    `config.documents` splits a sample into several, each with that number of pieces.
    """
    tokens = pieces.flatten()
    sizes, per_sample = np.diff(tokens.offsets.to_numpy()), np.diff(pieces.offsets.to_numpy())
    counts = -(-sizes // config.length)
    piece = np.repeat(np.arange(len(sizes)), counts)
    last = np.cumsum(counts) - 1
    lengths = np.full(len(piece), config.length, np.int64)
    lengths[last] = sizes - (counts - 1) * config.length
    first = np.repeat(np.cumsum(per_sample) - per_sample, per_sample)
    part = (np.arange(len(sizes)) - first) // (config.documents or max(1, len(sizes)))
    starts = np.concatenate([[0], (np.diff(first) != 0) | (np.diff(part) != 0)]) if len(sizes) else np.empty(0)
    sample = np.cumsum(starts.astype(np.int64))
    return CutSamples(
        Sentences(tokens.flatten().to_numpy().astype(np.int64), lengths[:, None]), sample[piece], piece.astype(np.int64)
    )


def shared_tokens(cut: CutSamples, frequent: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return whether each token occurs in another sequence of its sample and is not `frequent` (V,)."""
    tokens = cut.sequences.tokens
    sequence = np.repeat(np.arange(len(cut.samples)), cut.sequences.lengths[:, 0])
    vocabulary = int(tokens.max(initial=0)) + 1
    _, types, inverse = np.unique(sequence * vocabulary + tokens, return_index=True, return_inverse=True)
    in_sample = cut.samples[sequence[types]] * vocabulary + tokens[types]
    _, groups, counts = np.unique(in_sample, return_inverse=True, return_counts=True)
    shared: npt.NDArray[np.bool_] = (counts[groups] > 1)[inverse] & ~frequent[tokens]
    return shared


def frequent_tokens(rows: Rows, sampling: SampleSampling, vocabulary: int) -> npt.NDArray[np.bool_]:
    """Return whether each token (V,) is in more than `MAX_SEQUENCE_SHARE` of the first sequences.

    The sequences have their sampled length, so that runs with longer sequences have the same frequent tokens.
    """
    count = min(rows.rows, -(-NUM_COUNTED_SEQUENCES // sampling.sequences))
    pieces = rows.take(0, count)["pieces"].combine_chunks()
    sequences = cut_samples(pieces, ShortSequencesConfig(sampling=sampling)).sequences
    sequence = np.repeat(np.arange(len(sequences.lengths)), sequences.lengths[:, 0])
    types = np.unique(sequence * vocabulary + sequences.tokens) % vocabulary
    frequent: npt.NDArray[np.bool_] = np.bincount(types, minlength=vocabulary) > MAX_SEQUENCE_SHARE * len(
        sequences.lengths
    )
    return frequent
