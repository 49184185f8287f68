"""Token states → the vector of a text."""

import torch
from torch import Tensor


def pool(states: Tensor, weights: Tensor, pooling: str) -> Tensor:
    """States (B, T, H) and what each counts (B, T), 0 for padding → vectors (B, H).

    `cls`: the first states; `last`: the last ones that count; `max`: the largest entries; `mean` and `idf`: the
    weighted means.
    """
    if pooling == "cls":
        return states[:, 0]
    if pooling == "last":
        return states[torch.arange(len(states), device=states.device), weights.sum(dim=1) - 1]
    if pooling == "max":
        return states.masked_fill(weights[:, :, None] == 0, -torch.inf).amax(dim=1)
    weights = weights.to(states.dtype)
    return torch.einsum("bth,bt->bh", states, weights) / weights.sum(dim=1, keepdim=True).clamp_min(1e-6)
