"""Cross-Thought's layers across sequences, which read the states of their special tokens (section 3.2)."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from contexture.encoders.config import CrossConfig

#: Standard deviation of new weights in BERT.
BERT_STD = 0.02


class CrossLayers(nn.Module):
    """One Transformer layer over the sequences of a sample for each special token, or one for all.

    The vector of a sequence is [E_0; …; E_{N−1}], the states of its N special tokens; layer n reads the E_n of all
    sequences and knows nothing of their order.
    """

    def __init__(self, config: CrossConfig, model: Any, scaled: bool) -> None:
        """Layers like those of `model`, which has one at least, with weights of their own; see `new_layer`."""
        super().__init__()
        self.tokens = config.tokens
        like = model.encoder.layer[-1]
        self.layers = nn.ModuleList(
            new_layer(like, scaled) for _ in range(config.tokens if config.layers == "own" else 1)
        )

    def forward(self, vectors: Tensor, present: Tensor, documents: Tensor | None = None) -> Tensor:
        """Vectors (B, M, N·H) of M sequences → [C_0; …; C_{N−1}] of each, of the same shape (equation 4).

        Every sequence attends to those that are `present` (B, M), itself among them; with the numbers of their
        `documents` (B, M) to those of its own document alone. What stands for an absent one means nothing.
        """
        allowed = present[:, None].expand(-1, present.shape[1], -1)
        if documents is not None:
            allowed = allowed & (documents[:, :, None] == documents[:, None])
        # A row that may attend to nothing would make not-a-number of everything.
        allowed = allowed | torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
        mask = allowed[:, None]
        read = [layer(one, mask) for layer, one in zip(self._each(), self._split(vectors), strict=True)]
        return torch.stack(read, dim=-2).flatten(-2)

    def attention(self, queries: Tensor, candidates: Tensor) -> Tensor:
        """How much each query attends to its candidates: the mean of α over heads and special tokens (equation 7).

        Args:
            queries: vectors (Q, N·H).
            candidates: vectors (C, N·H) of all of them, or (Q, C, N·H) of each; a query does not attend to itself.

        Returns:
            Weights (Q, C) that add up to 1 for every query.
        """
        return self.log_attention(queries, candidates).exp()

    def log_attention(self, queries: Tensor, candidates: Tensor, present: Tensor | None = None) -> Tensor:
        """The logarithm of the same, (Q, C), which is exact where a weight is next to nothing.

        `present` (Q, C) tells which candidates a query has; −∞ for the others.
        """
        return self.log_weights(queries, self.keys(candidates), present)

    def keys(self, candidates: Tensor) -> Tensor:
        """What queries meet of candidates (…, N·H), of the same shape; for those that many queries have, made once."""
        made = [layer.attention.self.key(one) for layer, one in zip(self._each(), self._split(candidates), strict=True)]
        return torch.cat(made, dim=-1)

    def log_weights(self, queries: Tensor, keys: Tensor, present: Tensor | None = None) -> Tensor:
        """`log_attention` to the candidates with these `keys`."""
        weights = []
        for layer, asking, asked in zip(self._each(), self._split(queries), self._split(keys), strict=True):
            own = layer.attention.self
            heads = own.num_attention_heads
            left = own.query(asking).unflatten(-1, (heads, -1)).float()
            right = asked.view(*asked.shape[:-1], heads, -1).float()
            sides = "qhd,chd->hqc" if asked.dim() == 2 else "qhd,qchd->hqc"
            scores = torch.einsum(sides, left, right) / left.shape[-1] ** 0.5
            if present is not None:
                scores = scores.masked_fill(~present, -torch.inf)
            weights.append(scores.log_softmax(-1))
        every = torch.cat(weights)
        if present is not None:
            every = every.masked_fill(~present, 0.0)  # the gradient of a sum of exp(−∞) alone is not a number
        found = every.logsumexp(0) - torch.log(torch.tensor(float(len(every)), device=every.device))
        return found if present is None else found.masked_fill(~present, -torch.inf)

    def flops(self, sequences: Tensor) -> Tensor:
        """Forward and backward FLOPs for samples of so many `sequences` (B,)."""
        sequences = sequences.double()
        layer: Any = self.layers[0]
        parameters = sum(p.numel() for p in layer.parameters())
        width = layer.attention.self.query.in_features
        found: Tensor = self.tokens * (6 * parameters * sequences.sum() + 12 * width * sequences.square().sum())
        return found

    def _each(self) -> list[Any]:
        return [self.layers[n % len(self.layers)] for n in range(self.tokens)]

    def _split(self, vectors: Tensor) -> tuple[Tensor, ...]:
        """Vectors (…, N·H) → N of (…, H)."""
        return vectors.view(*vectors.shape[:-1], self.tokens, -1).unbind(-2)


def new_layer(like: Any, scaled: bool) -> Any:
    """A layer like another one, with new weights, of BERT's standard deviation or, `scaled`, one that fits the width.

    Queries do not start equal to keys: a sequence, which matches itself best, would attend to itself, and nothing would
    be learned of what others bring.
    """
    layer = copy.deepcopy(like)
    for module in layer.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5 if scaled else BERT_STD)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            module.reset_parameters()
    return layer
