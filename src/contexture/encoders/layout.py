"""Inputs of networks from sentences as token ids, without the padding of joint inputs.

The MSPP paper (section 3.2) pads every sentence to L tokens and masks the padding. Without it hidden states are the
same, because every token keeps the position and the token type of its slot; rows are 2 to 3 times shorter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from contexture.encoders.config import LayoutConfig

#: Tensors by name, and optionally `lengths`: the number of real tokens of each row, as a list.
Batch = dict[str, Any]
Ints = npt.NDArray[np.int64]

#: Keys of a batch whose values are texts.
TEXT_PARTS = ("texts", "sequences", "second", "query", "document", "negative")
#: Cost of one more chunk (launches of kernels), as a share of the largest chunk.
CHUNK_COST_SHARE = 1 / 32


@dataclass(frozen=True)
class Sentences:
    """B examples of S sentences: all ids in `tokens`, `lengths` (B, S); −1: no sentence, nor its special tokens."""

    tokens: Ints
    lengths: Ints


@dataclass(frozen=True)
class SpecialTokenFormat:
    """Ids of the special tokens and how a model family places them."""

    cls: int
    sep: int
    pad: int
    # Positions start here: RoBERTa's table reserves the rows up to its padding index.
    first_position: int = 0
    # Separators between the two sentences of a pair: 2 for RoBERTa, 1 for BERT.
    pair_separators: int = 1
    # Special tokens between [CLS] and a text (Cross-Thought).
    extra: tuple[int, ...] = ()


def select_rows(sentences: Sentences, rows: Ints) -> Sentences:
    """Return the examples with the given row numbers, in the order of `rows`."""
    per_row = np.maximum(sentences.lengths, 0).sum(axis=1)
    starts = np.cumsum(per_row) - per_row
    chosen = [sentences.tokens[starts[r] : starts[r] + per_row[r]] for r in rows]
    return Sentences(np.concatenate(chosen), sentences.lengths[rows])


def truncate(sentences: Sentences, limits: int | Ints) -> Sentences:
    """Cut sentences to at most `limits` tokens: one limit for all, or one for each sentence (B, S)."""
    lengths = np.maximum(sentences.lengths.ravel(), 0)
    kept = np.minimum(sentences.lengths, limits)
    return Sentences(sentences.tokens[token_offsets(lengths) < np.repeat(kept.ravel(), lengths)], kept)


def pair_limits(lengths: Ints, room: int) -> Ints:
    """Return limits (B, 2) that fit pairs into `room` tokens: half for the first part, the rest for the second."""
    first = np.minimum(lengths[:, 0], room // 2)
    return np.stack([first, room - first], axis=1)


def joint_layout(sentences: Sentences, specials: SpecialTokenFormat, layout: LayoutConfig) -> Batch:
    """Return a batch of joint inputs `[CLS] s_0 [SEP] [CLS] s_1 [SEP] …`, each sentence in its slot of L positions.

    The batch has `input_ids`, `position_ids`, `token_type_ids`, `attention_mask` (B, T), T the longest row; and
    `pooling` (B, S, T), the weight of each token in the state of each sentence (0 for an empty slot).
    """
    sentences = truncate(sentences, layout.sentence_tokens - 2)
    size = np.where(sentences.lengths >= 0, sentences.lengths + 2, 0)
    row, slot, offset, column = _token_coordinates(size)
    first, last = offset == 0, offset == size[row, slot] - 1
    ids = np.full(len(row), specials.sep)
    ids[first] = specials.cls
    ids[~first & ~last] = sentences.tokens
    position = slot * layout.sentence_tokens + offset if layout.positions == "slots" else column
    batch = _make_batch(row, column, ids, len(size), specials, position, slot)
    batch["pooling"] = _pooling_weights(row, slot, column, first, batch["input_ids"].shape[1], size, layout.pooling)
    return batch


def pair_layout(sentences: Sentences, specials: SpecialTokenFormat, layout: LayoutConfig) -> Batch:
    """Return a batch of pairs `[CLS] a [SEP] b [SEP]` for a cross-encoder, cut to the width of a joint input.

    `a` is cut to half of the room, `b` to the rest. Keys as in `joint_layout`; `pooling` is (B, 1, T).
    """
    rows, parts = sentences.lengths.shape
    if parts != 2 or (sentences.lengths < 0).any():
        raise ValueError(f"a pair needs two sentences, none of them missing; got an example of {parts}")
    sentences = truncate(sentences, pair_limits(sentences.lengths, layout.width - 2 - specials.pair_separators))
    # Special tokens before each part; one more ends the row.
    leading = np.array([1, specials.pair_separators])
    size = sentences.lengths + leading + np.array([0, 1])
    row, part, offset, column = _token_coordinates(size)
    ids = np.full(len(row), specials.sep)
    ids[column == 0] = specials.cls
    ids[(offset >= leading[part]) & (offset < leading[part] + sentences.lengths[row, part])] = sentences.tokens
    # In BERT the first separator belongs to the first sentence.
    token_type = np.where((part == 1) & (offset >= specials.pair_separators), 1, 0)
    batch = _make_batch(row, column, ids, rows, specials, column, token_type)
    size, width = size.sum(axis=1, keepdims=True), batch["input_ids"].shape[1]
    batch["pooling"] = _pooling_weights(row, np.zeros_like(row), column, column == 0, width, size, layout.pooling)
    return batch


def text_layout(parts: Sentences, specials: SpecialTokenFormat, limit: int) -> Batch:
    """Return a batch of one tower's inputs: `[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]` for examples of two parts.

    `specials.extra` follow [CLS]. A row is cut to `limit` tokens: the first of two parts to half of the room, the
    second to the rest. Token types are 0, as in sentence-transformers. Keys as in `joint_layout`, without `pooling`.
    """
    rows, count = parts.lengths.shape
    leaders = np.array([specials.cls, *specials.extra])
    room = limit - len(leaders) - count
    parts = truncate(parts, pair_limits(parts.lengths, room) if count == 2 else room)
    row, part, offset, column = _token_coordinates(parts.lengths + 1)  # each part with its [SEP]
    ids = np.full(len(row), specials.sep)
    ids[offset < parts.lengths[row, part]] = parts.tokens
    row = np.concatenate([np.repeat(np.arange(rows), len(leaders)), row])
    column = np.concatenate([np.tile(np.arange(len(leaders)), rows), column + len(leaders)])
    return _make_batch(row, column, np.concatenate([np.tile(leaders, rows), ids]), rows, specials, column)


def word_layout(sentences: Sentences, pad: int, limit: int) -> Batch:
    """Return `input_ids` and `attention_mask` (B, T) of sentences cut to `limit` words, without special tokens."""
    sentences = truncate(sentences, limit)
    row, _, _, column = _token_coordinates(sentences.lengths)
    rows = len(sentences.lengths)
    return {
        "input_ids": _fill_table(row, column, sentences.tokens, rows, pad),
        "attention_mask": _fill_table(row, column, np.ones_like(column), rows, 0),
    }


def text_chunks(
    texts: Sentences, specials: SpecialTokenFormat, limit: int, tokens_at_once: int
) -> tuple[list[Batch], Tensor]:
    """Return `text_layout` batches of texts of similar length, and each text's position (B,) in their concatenation."""
    parts = texts.lengths.shape[1]
    lengths = np.minimum(texts.lengths.sum(axis=1) + 1 + len(specials.extra) + parts, limit)
    chunks = group_by_length(lengths, tokens_at_once)
    positions = np.argsort(np.concatenate(chunks))
    return [text_layout(select_rows(texts, rows), specials, limit) for rows in chunks], torch.from_numpy(positions)


def row_lengths(batch: Mapping[str, Any]) -> Tensor:
    """Return the number of real tokens of each row of a batch: of tokens, of texts in chunks, or of texts by role."""
    if "attention_mask" in batch:
        return torch.sum(batch["attention_mask"], dim=1)
    parts = batch.get("chunks") or [batch[name] for name in TEXT_PARTS if name in batch]
    return torch.cat([row_lengths(part) for part in parts])


def group_by_length(lengths: Ints, budget: int) -> list[Ints]:
    """Group rows by length: return row numbers, shortest first, in chunks of at most `budget` tokens, with padding.

    A longer row is one chunk. Chunks minimise all tokens plus `CHUNK_COST_SHARE` of the budget per chunk.
    """
    order = np.argsort(lengths, kind="stable")
    ordered, count = lengths[order], len(order)
    work, start_of, fewer = np.zeros(count + 1), np.zeros(count + 1, dtype=np.int64), np.arange(count, 0, -1)
    for end, longest in enumerate(ordered.tolist(), start=1):
        first = max(0, end - max(1, budget // max(1, longest)))
        total = work[first:end] + fewer[count - end + first :] * longest
        best = int(total.argmin())
        start_of[end] = first + best
        work[end] = total[best] + budget * CHUNK_COST_SHARE
    chunks, end = [], count
    while end:
        chunks.append(order[start_of[end] : end])
        end = int(start_of[end])
    return chunks[::-1]


def _pooling_weights(
    row: Ints, slot: Ints, column: Ints, first: npt.NDArray[np.bool_], width: int, size: Ints, kind: str
) -> Tensor:
    """Return weights (B, S, T) of tokens in sentences of `size` (B, S): only the `first` tokens, or all equally."""
    weights = np.zeros((*size.shape, width), dtype=np.float32)
    if kind == "mean":
        weights[row, slot, column] = 1 / size[row, slot]
    else:
        weights[row[first], slot[first], column[first]] = 1
    return torch.from_numpy(weights)


def token_offsets(lengths: Ints) -> Ints:
    """Return 0, 1, …, n−1 for each n of `lengths`, concatenated."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def _token_coordinates(size: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return row, segment, offset in the segment, and column of each token, for segments of `size` (B, S) tokens."""
    segment, offset = np.repeat(np.arange(size.size), size.ravel()), token_offsets(size.ravel())
    starts = np.cumsum(size, axis=1) - size
    return segment // size.shape[1], segment % size.shape[1], offset, starts.ravel()[segment] + offset


def _fill_table(row: Ints, column: Ints, values: Ints, rows: int, fill: int) -> Tensor:
    """Return a table (B, T) with the `values` of tokens at their `row` and `column`, and `fill` elsewhere."""
    table = np.full((rows, int(column.max()) + 1 if len(column) else 1), fill, dtype=np.int64)
    table[row, column] = values
    return torch.from_numpy(table)


def _make_batch(
    row: Ints,
    column: Ints,
    ids: Ints,
    rows: int,
    specials: SpecialTokenFormat,
    position: Ints,
    token_type: Ints | None = None,
) -> Batch:
    """Return the input tensors (B, T) for tokens at `row` and `column`, with their ids, positions and token types."""
    types = np.zeros_like(ids) if token_type is None else token_type
    return {
        "input_ids": _fill_table(row, column, ids, rows, specials.pad),
        "attention_mask": _fill_table(row, column, np.ones_like(ids), rows, 0),
        "position_ids": _fill_table(row, column, position + specials.first_position, rows, 0),
        "token_type_ids": _fill_table(row, column, types, rows, 0),
    }
