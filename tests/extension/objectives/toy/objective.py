"""The loss of the toy objective."""

from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch


class Toy(Objective):
    """Reads vectors (B, D) of documents."""

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean squared difference of vector lengths from 1."""
        return Loss((states["document"].norm(dim=1) - 1).square().mean())
