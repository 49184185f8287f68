"""Token states → the vector of a text."""

import torch
from torch import Tensor


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """States (B, T, H) and mask (B, T) → the first states (`cls`), or the means over the tokens (`mean`), (B, H)."""
    if pooling == "cls":
        return states[:, 0]
    weights = mask.to(states.dtype)
    return torch.einsum("bth,bt->bh", states, weights) / weights.sum(dim=1, keepdim=True)
