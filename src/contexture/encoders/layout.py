"""Sentences as token ids → the joint input of a Transformer, without its padding.

The MSPP paper (section 3.2) pads every one of the k+1 sentences to L tokens. Padding is masked from attention, so
leaving it out changes no hidden state as long as every token keeps the position and the token type of its slot.
That is what these functions do: rows are as long as their real tokens, about 2-3 times shorter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from contexture.encoders.config import LayoutConfig

#: Tensors by name; `lengths` may tell the real tokens of each row as plain numbers.
Batch = dict[str, Any]
Ints = npt.NDArray[np.int64]

#: Texts of a batch, by the names of their parts.
TEXTS = ("texts", "sequences", "second", "query", "document")
#: What one more chunk costs, as a share of the largest chunk: little work on a CPU, launches of kernels on a GPU.
PART_OF_BUDGET = 1 / 32


@dataclass(frozen=True)
class Sentences:
    """B examples of S sentences each: `tokens` holds all ids one after the other, `lengths` is (B, S).

    A length of −1 is an empty slot: no sentence, not even its special tokens.
    """

    tokens: Ints
    lengths: Ints


@dataclass(frozen=True)
class Specials:
    """Ids of the special tokens and what a model family does with them."""

    cls: int
    sep: int
    pad: int
    # Positions start here: RoBERTa's table reserves the rows up to its padding index.
    first_position: int = 0
    # Separators between the two sentences of a pair: 2 for RoBERTa, 1 for BERT.
    pair_separators: int = 1
    # Further special tokens, between [CLS] and a text (Cross-Thought).
    more: tuple[int, ...] = ()


def select(sentences: Sentences, rows: Ints) -> Sentences:
    """The chosen rows, in the order given."""
    lengths = np.maximum(sentences.lengths, 0)
    per_row = lengths.sum(axis=1)
    starts = np.cumsum(per_row) - per_row
    chosen = [sentences.tokens[starts[r] : starts[r] + per_row[r]] for r in rows]
    return Sentences(np.concatenate(chosen), sentences.lengths[rows])


def cut(sentences: Sentences, limits: int | Ints) -> Sentences:
    """Cut every sentence to at most its limit of tokens: one for all, or (B, S)."""
    lengths = np.maximum(sentences.lengths.ravel(), 0)
    kept = np.minimum(sentences.lengths, limits)
    return Sentences(sentences.tokens[_within(lengths) < np.repeat(kept.ravel(), lengths)], kept)


def pair_limits(lengths: Ints, room: int) -> Ints:
    """Limits (B, 2) that fit pairs of `lengths` (B, 2) into `room`: the first half of it, the last what is left."""
    first = np.minimum(lengths[:, 0], room // 2)
    return np.stack([first, room - first], axis=1)


def joint_layout(sentences: Sentences, specials: Specials, layout: LayoutConfig) -> Batch:
    """`[CLS] s_0 [SEP] [CLS] s_1 [SEP] …`, each sentence in its slot of L positions.

    Returns int64 tensors: `input_ids`, `position_ids`, `token_type_ids`, `attention_mask` of shape (B, T) with T the
    longest row; and `pooling` (B, S, T), the weight of each token in the state of each sentence (0 for an empty slot).
    """
    sentences = cut(sentences, layout.sentence_tokens - 2)
    size = np.where(sentences.lengths >= 0, sentences.lengths + 2, 0)
    slots = size.shape[1]
    segment = np.repeat(np.arange(size.size), size.ravel())
    within = _within(size.ravel())
    row, slot = segment // slots, segment % slots
    column = (np.cumsum(size, axis=1) - size).ravel()[segment] + within

    first, last = within == 0, within == size.ravel()[segment] - 1
    ids = np.empty(len(segment), dtype=np.int64)
    ids[first], ids[last] = specials.cls, specials.sep
    ids[~first & ~last] = sentences.tokens
    position = slot * layout.sentence_tokens + within if layout.positions == "slots" else column

    batch = _rows(row, column, ids, position + specials.first_position, slot, len(size), specials.pad)
    batch["pooling"] = _pooling(row, slot, column, first, batch["input_ids"].shape[1], size, layout.pooling)
    return batch


def pair_layout(sentences: Sentences, specials: Specials, layout: LayoutConfig) -> Batch:
    """`[CLS] a [SEP] b [SEP]`: the input of a cross-encoder, cut to the width of a joint input.

    `a` is cut to half of the room, `b` to what is left. Shapes as in `joint_layout`; `pooling` is (B, 1, T): a pair has
    one state.
    """
    rows, parts = sentences.lengths.shape
    if parts != 2 or (sentences.lengths < 0).any():
        raise ValueError(f"a pair has two sentences, both there; got an example of {parts}")
    sentences = cut(sentences, pair_limits(sentences.lengths, layout.width - 2 - specials.pair_separators))
    before = np.array([1, specials.pair_separators])
    size = sentences.lengths + before + np.array([0, 1])
    starts = np.cumsum(size, axis=1) - size
    segment = np.repeat(np.arange(size.size), size.ravel())
    within = _within(size.ravel())
    row, part = segment // 2, segment % 2
    column = starts.ravel()[segment] + within

    text = (within >= before[part]) & (within < before[part] + sentences.lengths.ravel()[segment])
    ids = np.full(len(segment), specials.sep, dtype=np.int64)
    ids[column == 0] = specials.cls
    ids[text] = sentences.tokens
    # BERT counts the first separator to the first sentence.
    token_type = np.where((part == 1) & (within >= specials.pair_separators), 1, 0)
    batch = _rows(row, column, ids, column + specials.first_position, token_type, rows, specials.pad)
    size = size.sum(axis=1, keepdims=True)
    batch["pooling"] = _pooling(
        row, np.zeros_like(row), column, column == 0, batch["input_ids"].shape[1], size, layout.pooling
    )
    return batch


def text_layout(parts: Sentences, specials: Specials, limit: int) -> Batch:
    """`[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]` for examples of two parts: the input of one tower.

    Where there are more special tokens they stand behind [CLS]. A row is cut to `limit` tokens: the first of two parts
    to half of the room, the last to what is left. Token types are all 0, as sentence-transformers has them. Shapes as
    in `joint_layout`, without `pooling`.
    """
    count, leaders = parts.lengths.shape[1], np.array([specials.cls, *specials.more])
    room = limit - len(leaders) - count
    parts = cut(parts, pair_limits(parts.lengths, room) if count == 2 else room)
    kept = parts.lengths

    size = kept + 1  # each part with its [SEP]
    segment = np.repeat(np.arange(size.size), size.ravel())
    within = _within(size.ravel())
    row = segment // count
    column = len(leaders) + (np.cumsum(size, axis=1) - size).ravel()[segment] + within
    ids = np.full(len(segment), specials.sep, dtype=np.int64)
    ids[within < kept.ravel()[segment]] = parts.tokens
    rows = len(size)
    row = np.concatenate([np.repeat(np.arange(rows), len(leaders)), row])
    column = np.concatenate([np.tile(np.arange(len(leaders)), rows), column])
    ids = np.concatenate([np.tile(leaders, rows), ids])
    return _rows(row, column, ids, column + specials.first_position, np.zeros_like(column), rows, specials.pad)


def word_layout(sentences: Sentences, pad: int, limit: int) -> Batch:
    """Sentences of one part, cut to `limit` words, without special tokens: `input_ids` and `attention_mask` (B, T)."""
    sentences = cut(sentences, limit)
    lengths = sentences.lengths.ravel()
    row, column = np.repeat(np.arange(len(lengths)), lengths), _within(lengths)
    batch = _rows(row, column, sentences.tokens, column, np.zeros_like(column), len(lengths), pad)
    return {name: batch[name] for name in ("input_ids", "attention_mask")}


def text_chunks(texts: Sentences, specials: Specials, limit: int, tokens_at_once: int) -> tuple[list[Batch], Tensor]:
    """Batches of texts of like length, and (B,) the place of each text in their concatenation."""
    parts = texts.lengths.shape[1]
    lengths = np.minimum(texts.lengths.sum(axis=1) + 1 + len(specials.more) + parts, limit)
    chunks = chunks_of_like_length(lengths, tokens_at_once)
    order = np.concatenate(chunks)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return [text_layout(select(texts, rows), specials, limit) for rows in chunks], torch.from_numpy(places)


def row_lengths(batch: Mapping[str, Any]) -> Tensor:
    """Real tokens of every row of a batch: of tokens, of texts in chunks, or of texts by role."""
    if "attention_mask" in batch:
        return torch.sum(batch["attention_mask"], dim=1)
    parts = batch.get("chunks") or [batch[name] for name in TEXTS if name in batch]
    return torch.cat([row_lengths(part) for part in parts])


def chunks_of_like_length(lengths: Ints, budget: int) -> list[Ints]:
    """Row numbers, shortest first, in chunks that padded to their longest hold at most `budget` tokens.

    A row longer than the budget is a chunk of its own. The cuts are those with the least work: all tokens, padding
    included, and for every chunk as many more as `PART_OF_BUDGET` says.
    """
    order = np.argsort(lengths, kind="stable")
    ordered, count = lengths[order], len(order)
    work, start_of, fewer = np.zeros(count + 1), np.zeros(count + 1, dtype=np.int64), np.arange(count, 0, -1)
    for end, longest in enumerate(ordered.tolist(), start=1):
        first = max(0, end - max(1, budget // max(1, longest)))
        total = work[first:end] + fewer[count - end + first :] * longest
        best = int(total.argmin())
        start_of[end] = first + best
        work[end] = total[best] + budget * PART_OF_BUDGET
    chunks, end = [], count
    while end:
        chunks.append(order[start_of[end] : end])
        end = int(start_of[end])
    return chunks[::-1]


def _pooling(
    row: Ints, slot: Ints, column: Ints, first: npt.NDArray[np.bool_], width: int, size: Ints, kind: str
) -> Tensor:
    """Weights (B, S, T) of tokens in sentences of `size` (B, S): those that are `first` alone, or all alike."""
    out = np.zeros((*size.shape, width), dtype=np.float32)
    if kind == "mean":
        out[row, slot, column] = 1 / size[row, slot]
    else:
        out[row[first], slot[first], column[first]] = 1
    return torch.from_numpy(out)


def _within(lengths: Ints) -> Ints:
    """0, 1, …, n−1 for every n of `lengths`, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def _rows(row: Ints, column: Ints, ids: Ints, position: Ints, token_type: Ints, rows: int, pad: int) -> Batch:
    """Scatter flat tokens into (B, T) tensors padded on the right."""
    width = int(column.max()) + 1 if len(column) else 1

    def table(values: Ints, fill: int) -> Tensor:
        out = np.full((rows, width), fill, dtype=np.int64)
        out[row, column] = values
        return torch.from_numpy(out)

    return {
        "input_ids": table(ids, pad),
        "attention_mask": table(np.ones_like(ids), 0),
        "position_ids": table(position, 0),
        "token_type_ids": table(token_type, 0),
    }
