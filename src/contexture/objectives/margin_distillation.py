"""Distillation of a cross-encoder's margins (MarginMSE: Hofstätter et al., 2020; GPL: Wang et al., 2022)."""

from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.settings import MarginDistillationConfig


class MarginDistillation(Objective):
    """Squared error of score(query, document) − score(query, negative), which a cross-encoder has computed, too.

    Reads vectors (B, D) of queries and documents, (B·K, D) of the K negatives of each query, and `margins` (B, K).
    """

    def __init__(self, config: MarginDistillationConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.scale, self.size = config.scale, encoder.query.size

    def flops(self, batch: StreamBatch) -> float:
        """Products of each query with its document and its negatives."""
        rows, num_negatives = batch["margins"].shape
        return 6.0 * float(rows * (1 + num_negatives) * self.size)

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Mean over all negatives of this device; share of the negatives that score below the document."""
        queries, documents = states["query"].float(), states["document"].float()
        negatives = states["negative"].float().view(len(queries), -1, queries.shape[1])
        margins = (queries * documents).sum(dim=1, keepdim=True) - (queries[:, None] * negatives).sum(dim=2)
        loss = nn.functional.mse_loss(margins, self.scale * batch["margins"])
        return Loss(loss, {"accuracy": (margins > 0).float().mean()})
