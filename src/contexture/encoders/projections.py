"""CMLM's projections of a sentence's vector into several spaces (section 2 and appendix C)."""

import torch
from torch import Tensor, nn


class Projections(nn.Module):
    """Vectors (B, H) → views (B, N, H): the vector itself, and N − 1 perceptrons of it; none for N = 0.

    Each has three layers, of H × 2H, 2H × 2H and 2H × H, the first two with ReLU: 8H² + 5H parameters.
    """

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.count = count
        wide = 2 * width
        self.perceptrons = nn.ModuleList(
            nn.Sequential(nn.Linear(width, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, width))
            for _ in range(count - 1)
        )

    def forward(self, vectors: Tensor) -> Tensor:
        """See the class."""
        views = [vectors, *(perceptron(vectors) for perceptron in self.perceptrons)][: self.count]
        return torch.stack(views, dim=1) if views else vectors[:, None][:, :0]
