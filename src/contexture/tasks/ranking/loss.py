"""How probable each candidate of a question is: by cross-sequence attention, or by inner products."""

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.encoders.cross import CrossLayers
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.base_config import ObjectiveConfig

#: The column of a slot that holds no candidate.
EMPTY = -1


class AnswerRanking(Objective):
    """−log α[0][m] of the right candidate m (Cross-Thought, equation 10).

    Encoders without cross-sequence layers have −log softmax of the inner products over the same candidates. Reads
    vectors (Q, D) of queries and (U, D) of documents, and of the batch `columns` (Q, C): the documents that are a
    question's candidates, the right one first, −1 for an empty slot.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(ObjectiveConfig(), encoder)

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Mean over this device's questions; also the share of them whose right candidate is the most probable."""
        found = log_probabilities(encoder.cross, states["query"], states["document"], batch["columns"])
        others = found[:, 1:].amax(dim=1)
        return Loss(-found[:, 0].mean(), {"accuracy": (found[:, 0] > others).float().mean()})


def log_probabilities(cross: CrossLayers | None, queries: Tensor, documents: Tensor, columns: Tensor) -> Tensor:
    """Logarithms (Q, C) of how probable each candidate is among those of its question; −∞ in empty slots.

    Args:
        cross: cross-sequence layers, whose mean attention is the probability; None: softmax of inner products.
        queries: (Q, D).
        documents: (U, D).
        columns: (Q, C) rows of the documents; −1 for an empty slot.
    """
    there = columns != EMPTY
    candidates = documents[columns.clamp(min=0)]
    if cross is not None:
        return cross.log_attention(queries, candidates, there)
    scores = torch.einsum("qd,qcd->qc", queries.float(), candidates.float())
    return nn.functional.log_softmax(scores.masked_fill(~there, -torch.inf), dim=1)
