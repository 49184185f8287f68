"""Quick-Thoughts: find a sentence's neighbours among the sentences of the batch (section 3, equations 1 and 2)."""

import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.devices import gather_devices, inner_products
from contexture.objectives.settings import QuickThoughtsConfig


class QuickThoughts(Objective):
    """Softmax of each sentence's neighbours among the sentences of all R devices.

    Reads vectors (B, D) of queries (f) and documents (g), and `document_numbers`, `positions` (R·B,) and `first`.
    """

    def __init__(self, config: QuickThoughtsConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config, self.size = config, encoder.query.size

    def flops(self, batch: StreamBatch) -> float:
        """Return forward and backward FLOPs of the products of this device's sentences with all sentences."""
        return 6.0 * len(batch["texts"]["rows"]) * len(batch["positions"]) * self.size

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean loss of sentences with neighbours, and the share whose best candidate is a neighbour."""
        context = context_matrix(batch["document_numbers"], batch["positions"])
        rows = torch.arange(len(states["query"]), device=context.device) + batch["first"]
        scores = neighbour_scores(states["query"], gather_devices(states["document"]), rows, self.config.self_score)
        own_context = context[rows]
        # The average over devices must be the mean over all sentences that have a context.
        share = len(context) / len(rows) / context.any(dim=1).sum().clamp(min=1)
        loss = context_losses(scores, own_context, self.config.context).sum() * share
        counted = own_context.any(dim=1)
        best = scores.scatter(1, rows[:, None], -torch.inf).argmax(dim=1)
        right = own_context[torch.arange(len(rows), device=rows.device), best][counted].float()
        return Loss(loss, {"accuracy": right.sum() / counted.sum().clamp(min=1)})


def context_matrix(documents: Tensor, positions: Tensor) -> Tensor:
    """Return a matrix (N, N): whether two of N sentences are adjacent in the same document."""
    distance = (positions[:, None] - positions[None, :]).abs()
    return (documents[:, None] == documents[None, :]) & (distance == 1)


def neighbour_scores(f: Tensor, g: Tensor, rows: Tensor, self_score: str) -> Tensor:
    """Return inner products (B, N) of sentences (B, D) with candidates (N, D); sentence i is candidate `rows[i]`.

    A sentence's score with itself is −∞ if `excluded`, otherwise 0.
    """
    scores = inner_products(f, g)
    return scores.scatter(1, rows[:, None], -torch.inf if self_score == "excluded" else 0.0)


def context_losses(scores: Tensor, context: Tensor, kind: str) -> Tensor:
    """Return each sentence's loss (B,): mean or sum of −log p of its neighbours, `context`, given scores, both (B, N).

    0 for a sentence without context.
    """
    log_p = scores.log_softmax(dim=1).masked_fill(~context, 0.0)
    losses = -log_p.sum(dim=1)
    return losses / context.sum(dim=1).clamp(min=1) if kind == "mean" else losses
