"""Softmax over the documents of a batch (two-tower paper, section 2, equation 3 with sampled documents)."""

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.devices import first_row_index, gather_devices, inner_products
from contexture.objectives.settings import InBatchNegativesConfig


class InBatchNegatives(Objective):
    """Softmax of each query's document among all documents, on all devices.

    Reads vectors (B, D) of queries and documents and, of the batch, `document_ids` (B,), equal for equal documents.
    With setting `log_q`, also `log_q` (B,), the log probability that a pair is of the same task and has this document.
    An optional `no_negatives` (B, R·B) excludes further documents of all R devices as negatives of a query. If there
    are vectors `negative` (N, D) with `negative_ids` (N,), such as hard negatives, they are further negatives of all
    queries.
    """

    def __init__(self, config: InBatchNegativesConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.config, self.size = config, encoder.query.size

    def flops(self, batch: StreamBatch) -> float:
        """Return FLOPs, forward and backward, of products of this device's queries with all documents and negatives."""
        columns = self.devices * (len(batch["document_ids"]) + len(batch.get("negative_ids", ())))
        return 6.0 * len(batch["document_ids"]) * columns * self.size

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean loss of this device's queries, and the accuracy of retrieving their documents."""
        log_q = batch["log_q"] if self.config.log_q else None
        scores, targets = in_batch_scores(
            states["query"],
            states["document"],
            batch["document_ids"],
            log_q,
            batch.get("no_negatives"),
            states.get("negative"),
            batch.get("negative_ids"),
        )
        right = (scores.argmax(dim=1) == targets).float().mean()
        return Loss(nn.functional.cross_entropy(scores, targets), {"accuracy": right})


def in_batch_scores(
    queries: Tensor,
    documents: Tensor,
    ids: Tensor,
    log_q: Tensor | None = None,
    no_negatives: Tensor | None = None,
    negatives: Tensor | None = None,
    negative_ids: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return scores (B, R·B) of queries (B, D) with documents (B, D) of all R devices, and targets (B,).

    Repetitions of a query's document, and `no_negatives` (B, R·B), score −∞. `log_q` (B,) is subtracted from the
    scores, which makes the sampled softmax unbiased (Bengio and Senécal, 2008). `negatives` (N, D) with `negative_ids`
    (N,) of all devices are R·N further columns, without `log_q`. All devices must have the same B and N. For gradients
    see `gather_devices`.
    """
    rows = torch.arange(len(queries), device=queries.device)
    targets = rows + first_row_index(len(queries))
    scores = inner_products(queries, gather_devices(documents))
    if log_q is not None:
        scores = scores - gather_devices(log_q.detach())
    repeated = ids[:, None] == gather_devices(ids)[None, :]
    if no_negatives is not None:
        repeated |= no_negatives
    repeated[rows, targets] = False
    if negatives is not None and negative_ids is not None:
        scores = torch.cat([scores, inner_products(queries, gather_devices(negatives))], dim=1)
        repeated = torch.cat([repeated, ids[:, None] == gather_devices(negative_ids)[None, :]], dim=1)
    return scores.masked_fill(repeated, -torch.inf), targets
