"""Bitext retrieval by additive margin softmax (CMLM, section 4.2; Yang et al., 2019, section 2.3).

CMLM prints the loss without its logarithm; this is the loss of Yang et al.
"""

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.devices import first_row_index, gather_devices, inner_products
from contexture.objectives.settings import BitextObjectiveConfig

#: Margin m, subtracted from the score of the correct translation (CMLM, section 4).
MARGIN = 0.3


class BitextRetrieval(Objective):
    """Softmax over the translations of a batch, with an additive margin.

    Reads vectors (B, D) by side, and `ids` (B, 2), equal for equal sentences.
    """

    def __init__(self, config: BitextObjectiveConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.scale, self.size = config.scale, encoder.document.size

    def flops(self, batch: StreamBatch) -> float:
        """Return FLOPs of the products of this device's sentences with all translations, in both directions."""
        return 2 * 6.0 * self.devices * len(batch["ids"]) ** 2 * self.size

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the sum of the losses of both directions, and the accuracy of retrieving the translation."""
        return additive_margin(states["source"], states["target"], batch["ids"], MARGIN, self.scale)


def additive_margin(sources: Tensor, targets: Tensor, ids: Tensor, margin: float, scale: float | None = None) -> Loss:
    """Return the softmax loss with a margin: mean −log p of each source's translation, plus that of each target's.

    Candidates are the other sides (B, D) on all R devices, which must have the same B; for gradients see
    `devices.gather_devices`. With `scale`, scores are cosines, multiplied by it after the margin is subtracted. Pairs
    that share a sentence, by `ids` (B, 2), are not negatives of each other.
    """
    if scale is not None:
        sources, targets = (nn.functional.normalize(side.float(), dim=1) for side in (sources, targets))
    rows = torch.arange(len(sources), device=sources.device)
    targets_index = rows + first_row_index(len(sources))
    all_ids = gather_devices(ids)
    repeated = torch.stack([one_side[:, None] == other_side for one_side in ids.T for other_side in all_ids.T]).any(
        dim=0
    )
    repeated[rows, targets_index] = False
    losses, hits = [], []
    for queries, candidates in ((sources, targets), (targets, sources)):
        scores = inner_products(queries, gather_devices(candidates)).masked_fill(repeated, -torch.inf)
        hits.append((scores.argmax(dim=1) == targets_index).float().mean())
        lowered = scores.index_put((rows, targets_index), scores[rows, targets_index] - margin)
        losses.append(nn.functional.cross_entropy(lowered if scale is None else scale * lowered, targets_index))
    return Loss(losses[0] + losses[1], {"accuracy": (hits[0] + hits[1]) / 2})
