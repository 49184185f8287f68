"""Hidden states of the tokens of a batch without padding, for training on a CPU."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from contexture.encoders.dropout import draw_dropped, drop
from contexture.encoders.layout import Batch, Ints, token_offsets

#: On a CPU in bfloat16, training on rows up to this length is faster without fused attention, whose
#: backward pass is slow there (benchmarks/attention.py).
MAX_PLAIN_TOKENS = 160


def packed_states(model: Any, inputs: Batch, lengths: Ints, read: Tensor | None = None) -> Tensor:
    """Return the hidden states (B, T, H) of a model whose family is in `BERT_LIKE`; those of padding are 0.

    The layers compute a list of all real tokens. Attention computes rows of equal length together. The last layer
    computes only the states of tokens in `read` (B, T), except for attention; the others are 0.

    Args:
        model: the model without a head.
        inputs: `input_ids`, `position_ids` and `token_type_ids` (B, T).
        lengths: (B,) number of tokens of each row, which come first in it.
        read: (B, T), true for tokens whose states are needed. None: all.
    """
    rows, width = inputs["input_ids"].shape
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    indices = torch.from_numpy(np.repeat(order * width, ordered) + token_offsets(ordered))
    names = ("input_ids", "position_ids", "token_type_ids")
    states = model.embeddings(**{name: inputs[name].reshape(-1)[indices][None] for name in names})[0]
    groups = [(count, length) for length, count in zip(*np.unique(ordered, return_counts=True), strict=True) if length]
    for number, layer in enumerate(model.encoder.layer, start=1):
        attended = _attend(layer.attention.self, states, groups)
        if number == len(model.encoder.layer) and read is not None:
            kept = read.reshape(-1)[indices].nonzero()[:, 0]
            attended, states, indices = attended[kept], states[kept], indices[kept]
        states = layer.feed_forward_chunk(layer.attention.output(attended, states))
    table: Tensor = states.new_zeros(rows * width, states.shape[1]).index_copy(0, indices, states)
    return table.view(rows, width, -1)


def _attend(attention: Any, states: Tensor, groups: list[tuple[int, int]]) -> Tensor:
    """Return the attended values (N, H) of `states` (N, H), which are `groups` of (rows, tokens per row)."""
    dropout = attention.dropout.p if attention.training else 0.0
    sizes = [int(count * length) for count, length in groups]
    split = zip(
        *(linear(states).split(sizes) for linear in (attention.query, attention.key, attention.value)), strict=True
    )
    attended = []
    for (count, length), parts in zip(groups, split, strict=True):
        shape = (int(count), int(length), attention.num_attention_heads, -1)
        query, key, value = (part.view(shape).transpose(1, 2) for part in parts)
        if dropout or (query.dtype == torch.bfloat16 and length <= MAX_PLAIN_TOKENS):
            mixed = PlainAttention.apply(query, key, value, dropout)  # type: ignore[no-untyped-call]
        else:
            mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        attended.append(mixed.transpose(1, 2).reshape(len(parts[0]), -1))
    return torch.cat(attended)


class PlainAttention(torch.autograd.Function):
    """Attention by plain products, because PyTorch's fused attention has no dropout on a CPU."""

    @staticmethod
    def forward(context: Any, query: Tensor, key: Tensor, value: Tensor, dropout: float) -> Tensor:
        """Return the attended values (B, heads, T, D) of queries, keys and values (B, heads, T, D)."""
        context.shape, context.dropout = query.shape, dropout
        query, key, value = (part.reshape(-1, *part.shape[2:]) for part in (query, key, value))
        context.scale = query.shape[-1] ** -0.5
        scores = torch.baddbmm(query.new_empty(1, 1, 1), query, key.mT, beta=0, alpha=context.scale)
        weights = scores.softmax(-1).to(query.dtype)
        dropped = draw_dropped(weights.numel(), dropout) if dropout else None
        context.save_for_backward(query, key, value, weights, dropped)
        return torch.bmm(_drop(weights, dropped, dropout), value).view(context.shape)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Any:
        """Return the gradients of queries, keys and values."""
        query, key, value, weights, dropped = context.saved_tensors
        gradient = gradients[0].reshape(query.shape)
        of_value = torch.bmm(_drop(weights, dropped, context.dropout).mT, gradient)
        of_weights = _drop(torch.bmm(gradient, value.mT), dropped, context.dropout)
        of_scores = torch.ops.aten._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_query = torch.bmm(of_scores, key).mul_(context.scale)
        of_key = torch.bmm(of_scores.mT, query).mul_(context.scale)
        return *(part.view(context.shape) for part in (of_query, of_key, of_value)), None


def _drop(values: Tensor, dropped: Tensor | None, probability: float) -> Tensor:
    """Return `values` after dropout, unchanged if nothing is `dropped`."""
    return values if dropped is None else drop(values, dropped, probability)
