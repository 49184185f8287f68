"""Natural language inference across languages (CMLM, section 4.3)."""

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.settings import NliConfig

#: Entailment, neutral, contradiction.
NUM_CLASSES = 3


class NaturalLanguageInference(Objective):
    """Cross-entropy of a linear softmax on [u, v, |u−v|, u∗v] of the vectors (B, D) of `premise` and `hypothesis`.

    Reads `labels` (B,) of the batch. The encoder is trained, too.
    """

    def __init__(self, config: NliConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.linear = nn.Linear(4 * encoder.dimension, NUM_CLASSES)
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.zeros_(self.linear.bias)

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean cross-entropy of predicting the pairs' relations (entailment …), and the accuracy."""
        u, v = states["premise"], states["hypothesis"]
        logits = self.linear(torch.cat([u, v, (u - v).abs(), u * v], dim=1)).float()
        labels = batch["labels"]
        right = (logits.argmax(dim=1) == labels).float().mean()
        return Loss(nn.functional.cross_entropy(logits, labels), {"accuracy": right})
