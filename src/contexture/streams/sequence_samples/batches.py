"""Cross-Thought's batches: samples of sequences that attend to one another; or their sequences, each for itself."""

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
from contexture.encoders.layout import Ints, Sentences, Specials, text_layout
from contexture.streams.base import Rows, Steps, Stream, TokenStream, dealt
from contexture.streams.rows import ShuffledRows
from contexture.streams.sequence_samples.config import SampleSampling, SequenceSamplesConfig, ShortSequencesConfig

#: Sequences from which frequent tokens are counted.
COUNTED_SEQUENCES = 5_000
#: A token in a larger share of all sequences is too frequent to count as shared: it tells nothing about a text.
MAX_SHARE = 0.02


@dataclass(frozen=True)
class CutSamples:
    """The S sequences of some samples.

    Attributes:
        sequences: their tokens.
        samples: (S,) the number of the sample of each, from 0, rising.
        documents: (S,) the number of the piece of text, hence of the document, of each.
    """

    sequences: Sentences
    samples: Ints
    documents: Ints


class SequenceSamples(Stream):
    """`sequences`, texts in chunks of like length, and `grid` (S,), the cell of each in a table (samples × M).

    `present` (B, M) is false for empty cells. A sequence attends to those with its number in `groups` (B, M), and to
    itself if `to_itself`. `documents` (B, M) numbers the documents. With `maskable: shared` the chunks have `maskable`
    (B, T), true for tokens that may be masked; see `shared_tokens`.
    """

    def __init__(self, config: SequenceSamplesConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.config, self.limit = config, limit_of(config, encoder)
        self.rows = ShuffledRows(folder, ["pieces"], seed)
        self.frequent = count_frequent(self.rows, config, encoder)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        cut = cut_samples(_dealt(table, place, places), self.config)
        counts = np.bincount(cut.samples)
        within = np.arange(len(cut.samples)) - np.repeat(np.cumsum(counts) - counts, counts)
        present = np.arange(counts.max()) < counts[:, None]
        documents = np.zeros(present.shape, np.int64)
        documents[cut.samples, within] = cut.documents
        chunks, rows = self.encoder.document.chunks(cut.sequences, self.limit, self.steps.tokens_at_once)
        if self.config.maskable == "shared":
            width = max(chunk["input_ids"].shape[1] for chunk in chunks)
            table = _align(cut.sequences, shared_tokens(cut, self.frequent), self.encoder.specials, width)
            chunks = _with_maskable(chunks, table[rows.argsort()])
        return {
            "sequences": {"chunks": chunks, "rows": rows},
            "grid": torch.from_numpy(cut.samples * present.shape[1] + within),
            "present": torch.from_numpy(present),
            "documents": torch.from_numpy(documents),
            "groups": torch.from_numpy(documents if self.config.attends == "document" else np.zeros_like(documents)),
            "to_itself": self.config.attends != "others",
        }

    def encode(self, encoder: Encoder, batch: Mapping[str, Any]) -> list[Tensor]:
        """Hidden states (B, T, H) of each chunk of sequences."""
        return encoder.sequence_states(batch["sequences"]["chunks"])

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return sample_tokens(self.rows, self.config, count, self.frequent)


class ShortSequences(TokenStream):
    """The same sequences as batches of tokens, perhaps with `maskable` (B, T); a row of examples gives its sample."""

    def __init__(self, config: ShortSequencesConfig, folder: Path, encoder: Encoder, seed: int, steps: Steps) -> None:
        super().__init__(config, folder, encoder, seed, steps)
        self.config, self.limit = config, limit_of(config, encoder)
        self.rows = ShuffledRows(folder, ["pieces"], seed)
        self.frequent = count_frequent(self.rows, config, encoder)

    def collate(self, table: pa.Table, place: int, places: int) -> dict[str, Any]:
        """See `Stream.collate`."""
        cut, specials = cut_samples(_dealt(table, place, places), self.config), self.encoder.specials
        batch = text_layout(cut.sequences, specials, self.limit)
        if self.config.maskable == "any":
            return batch
        shared = shared_tokens(cut, self.frequent)
        return batch | {"maskable": _align(cut.sequences, shared, specials, batch["input_ids"].shape[1])}

    def sample(self, count: int) -> Ints:
        """See `Stream.sample`."""
        return sample_tokens(self.rows, self.config, count, self.frequent)


def limit_of(config: ShortSequencesConfig, encoder: Encoder) -> int:
    """Tokens of a sequence, special ones included; ValueError where the table of positions is too short for it."""
    limit = config.length + len(encoder.specials.more) + 2
    if limit > config.positions:
        raise ValueError(
            f"sequences of {config.length} tokens and {limit - config.length} special ones do not fit into "
            f"{config.positions} positions: raise the stream's positions, or lower its tokens"
        )
    return limit


def cut_samples(pieces: pa.ListArray, config: ShortSequencesConfig) -> CutSamples:
    """Cut the pieces of samples into sequences, the last of each piece perhaps shorter.

    Where `config.documents` says so a sample is split into several, each of so many pieces.
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
    """Whether each token stands in another sequence of its sample, too; those that are `frequent` (V,) do not count."""
    tokens = cut.sequences.tokens
    sequence = np.repeat(np.arange(len(cut.samples)), cut.sequences.lengths[:, 0])
    vocabulary = int(tokens.max(initial=0)) + 1
    _, types, inverse = np.unique(sequence * vocabulary + tokens, return_index=True, return_inverse=True)
    in_sample = cut.samples[sequence[types]] * vocabulary + tokens[types]
    _, groups, counts = np.unique(in_sample, return_inverse=True, return_counts=True)
    shared: npt.NDArray[np.bool_] = (counts[groups] > 1)[inverse] & ~frequent[tokens]
    return shared


def count_frequent(rows: Rows, config: ShortSequencesConfig, encoder: Encoder) -> npt.NDArray[np.bool_]:
    """Whether each token of the vocabulary (V,) is too frequent to be shared; with `maskable: any` none is counted."""
    vocabulary = encoder.vocabulary.tokens.vocab_size
    if config.maskable == "any":
        return np.zeros(vocabulary, np.bool_)
    return frequent_tokens(rows, config.sampling, vocabulary)


def frequent_tokens(rows: Rows, sampling: SampleSampling, vocabulary: int) -> npt.NDArray[np.bool_]:
    """Whether each token of a vocabulary (V,) stands in more than `MAX_SHARE` of the first sequences of the rows.

    Sequences are counted as they were sampled, so that a run with longer ones has the same frequent tokens.
    """
    count = min(rows.rows, -(-COUNTED_SEQUENCES // sampling.sequences))
    pieces = rows.take(0, count)["pieces"].combine_chunks()
    sequences = cut_samples(pieces, ShortSequencesConfig(sampling=sampling)).sequences
    sequence = np.repeat(np.arange(len(sequences.lengths)), sequences.lengths[:, 0])
    types = np.unique(sequence * vocabulary + sequences.tokens) % vocabulary
    frequent: npt.NDArray[np.bool_] = np.bincount(types, minlength=vocabulary) > MAX_SHARE * len(sequences.lengths)
    return frequent


def _with_maskable(chunks: list[dict[str, Any]], table: Tensor) -> list[dict[str, Any]]:
    """The chunks with `maskable` (B, T), from a table (S, T) of their concatenation."""
    parts = torch.split(table, [len(chunk["input_ids"]) for chunk in chunks])
    return [
        chunk | {"maskable": part[:, : chunk["input_ids"].shape[1]]} for chunk, part in zip(chunks, parts, strict=True)
    ]


def _align(sequences: Sentences, values: npt.NDArray[np.bool_], specials: Specials, width: int) -> Tensor:
    """Values of the tokens of sequences → a table (S, width), each where its token stands behind the special ones."""
    lengths = sequences.lengths[:, 0]
    table = np.zeros((len(lengths), width), np.bool_)
    row = np.repeat(np.arange(len(lengths)), lengths)
    column = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    table[row, 1 + len(specials.more) + column] = values
    return torch.from_numpy(table)


def _dealt(table: pa.Table, place: int, places: int) -> pa.ListArray:
    """The samples that come to a place."""
    pieces = table["pieces"].combine_chunks()
    sizes = np.diff(pieces.flatten().offsets.to_numpy())
    bounds = pieces.offsets.to_numpy() - pieces.offsets.to_numpy()[0]
    totals = np.add.reduceat(sizes, bounds[:-1])
    return pieces.take(pa.array(dealt(totals, place, places)))


def sample_tokens(rows: Rows, config: ShortSequencesConfig, count: int, frequent: npt.NDArray[np.bool_]) -> Ints:
    """The tokens that may be masked, of as many samples as have about `count` sequences."""
    pieces = rows.take(0, min(rows.rows, max(1, count // config.sampling.sequences)))["pieces"].combine_chunks()
    cut = cut_samples(pieces, config)
    tokens: Ints = cut.sequences.tokens
    return tokens if config.maskable == "any" else tokens[shared_tokens(cut, frequent)]
