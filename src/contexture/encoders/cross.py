"""Cross-Thought's layers across sequences (section 3.2)."""

import copy
from typing import Any, Literal

import torch
from torch import Tensor, nn

from contexture.encoders.config import CrossConfig

#: Standard deviation of new weights in BERT.
BERT_STD = 0.02


class CrossLayers(nn.Module):
    """One Transformer layer over the sequences of a sample for each special token, or one for all.

    A sequence is [E_0; …; E_{N−1}], the states of its N special tokens. Layer n reads the E_n of all sequences,
    without their order.
    """

    def __init__(self, config: CrossConfig, model: Any, scaled: bool) -> None:
        """Make new layers with the sizes of `model`'s, which has at least one; see `new_layer`."""
        super().__init__()
        self.tokens, self.start = config.tokens, config.start
        like = model.encoder.layer[-1]
        self.layers = nn.ModuleList(
            new_layer(like, scaled, config.start) for _ in range(config.tokens if config.layers == "own" else 1)
        )

    def forward(self, vectors: Tensor, present: Tensor, groups: Tensor | None = None, to_itself: bool = True) -> Tensor:
        """Return new vectors (B, M, N·H) of the M sequences of each sample, which attend to one another (equation 4).

        A sequence attends to those with its number in `groups` (B, M), by default to all; one that may attend to no
        other attends `to_itself` anyway. The output of padding (`present` (B, M) is false) has no meaning.
        """
        mask = attention_mask(present, groups, to_itself)[:, None]
        read = [
            layer(states, mask)
            for layer, states in zip(self._layer_per_token(), self._split_tokens(vectors), strict=True)
        ]
        return torch.stack(read, dim=-2).flatten(-2)

    def log_attention(self, queries: Tensor, candidates: Tensor, present: Tensor | None = None) -> Tensor:
        """Return logarithms (Q, C) of attention weights: mean α of heads and special tokens (equation 7).

        Weights of a row sum to 1; logarithms are exact for tiny ones, and −∞ for candidates not `present`. Queries
        (Q, N·H) attend to candidates (C, N·H), or each to its own (Q, C, N·H), and not to themselves.
        """
        return self.log_weights(queries, self.keys(candidates), present)

    def keys(self, candidates: Tensor) -> Tensor:
        """Return the attention keys of candidates (…, N·H), of the same shape, to use them for many queries."""
        layers = zip(self._layer_per_token(), self._split_tokens(candidates), strict=True)
        return torch.cat([layer.attention.self.key(states) for layer, states in layers], dim=-1)

    def log_weights(self, queries: Tensor, keys: Tensor, present: Tensor | None = None) -> Tensor:
        """Return the logarithm of attention weights (Q, C) as `log_attention`, from the candidates' `keys`."""
        weights = []
        for layer, query, key in zip(
            self._layer_per_token(), self._split_tokens(queries), self._split_tokens(keys), strict=True
        ):
            attention = layer.attention.self
            heads = attention.num_attention_heads
            left = attention.query(query).unflatten(-1, (heads, -1)).float()
            right = key.view(*key.shape[:-1], heads, -1).float()
            sides = "qhd,chd->hqc" if key.dim() == 2 else "qhd,qchd->hqc"
            scores = torch.einsum(sides, left, right) / left.shape[-1] ** 0.5
            if present is not None:
                scores = scores.masked_fill(~present, -torch.inf)
            weights.append(scores.log_softmax(-1))
        by_head = torch.cat(weights)
        if present is not None:
            by_head = by_head.masked_fill(~present, 0.0)  # a sum of only exp(−∞) has no gradient
        mean = by_head.logsumexp(0) - torch.log(torch.tensor(float(len(by_head)), device=by_head.device))
        return mean if present is None else mean.masked_fill(~present, -torch.inf)

    def flops(self, sequences: Tensor) -> Tensor:
        """Return the total forward and backward FLOPs (a scalar) for samples of `sequences` (B,) sequences."""
        sequences = sequences.double()
        layer: Any = self.layers[0]
        parameters = sum(p.numel() for p in layer.parameters())
        width = layer.attention.self.query.in_features
        flops: Tensor = self.tokens * (6 * parameters * sequences.sum() + 12 * width * sequences.square().sum())
        return flops

    def _layer_per_token(self) -> list[Any]:
        """Return the layer of each special token, in order; a shared layer is repeated."""
        return [self.layers[n % len(self.layers)] for n in range(self.tokens)]

    def _split_tokens(self, vectors: Tensor) -> tuple[Tensor, ...]:
        """Split the concatenated states (…, N·H) of N special tokens into N tensors (…, H)."""
        return vectors.view(*vectors.shape[:-1], self.tokens, -1).unbind(-2)


def attention_mask(present: Tensor, groups: Tensor | None = None, to_itself: bool = True) -> Tensor:
    """Return a mask (B, M, M) of the sequences that each sequence of a sample attends to; see `CrossLayers.forward`."""
    allowed = present[:, None].expand(-1, present.shape[1], -1)
    if groups is not None:
        allowed = allowed & (groups[:, :, None] == groups[:, None])
    itself = torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
    if not to_itself:
        allowed = allowed & ~itself
    # A softmax needs at least one number.
    return allowed | (itself & ~allowed.any(dim=-1, keepdim=True))


def new_layer(like: Any, scaled: bool, start: Literal["random", "copy"] = "random") -> Any:
    """Return a Transformer layer with the modules and sizes of `like` and new weights.

    Their standard deviation fits the width if `scaled`, otherwise it is BERT's. `start` random: queries differ from
    keys, because with equal ones a sequence, which matches itself best, attends only to itself. copy: queries equal
    keys, attention returns the weighted mean of the states, and the feed-forward part adds nothing.
    """
    layer = copy.deepcopy(like)
    for module in layer.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5 if scaled else BERT_STD)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            module.reset_parameters()
    if start == "copy":
        attention = layer.attention
        width = attention.self.query.in_features
        nn.init.normal_(attention.self.query.weight, std=width**-0.5)
        with torch.no_grad():
            attention.self.key.weight.copy_(attention.self.query.weight)
        nn.init.eye_(attention.self.value.weight)
        nn.init.eye_(attention.output.dense.weight)
        nn.init.zeros_(layer.output.dense.weight)
    return layer
