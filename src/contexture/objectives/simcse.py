"""SimCSE, unsupervised (Gao, Yao and Chen, 2021, section 3): a sentence's positive is itself under other dropout."""

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.devices import first_row_index, gather_devices, inner_products
from contexture.objectives.settings import SimcseConfig


class Simcse(Objective):
    """Softmax over sentences with other dropout. Reads vectors (B, D) of documents, and encodes `texts` again.

    Beside an objective that changes the texts, such as TSDAE, it reads the unchanged ones.
    """

    needs_clean_input = True

    def __init__(self, config: SimcseConfig, encoder: Encoder) -> None:
        """Raise ValueError for an encoder without dropout, for which both vectors would be equal."""
        super().__init__(config, encoder)
        self.temperature, self.encoder_flops, self.size = config.temperature, encoder.flops, encoder.document.size
        if not getattr(encoder.config, "dropout", 0.0):
            raise ValueError("simcse needs dropout: use a transformer with encoder.dropout above 0")

    def flops(self, batch: StreamBatch) -> Tensor:
        """Return FLOPs of the second pass through the encoder and of this device's products with all sentences."""
        return self.encoder_flops(batch) + 6.0 * self.devices * len(batch["texts"]["rows"]) ** 2 * self.size

    def forward(self, encoder: Encoder, states: dict[str, Tensor], batch: StreamBatch) -> Loss:
        """Return the mean loss of this device's sentences, and the accuracy of retrieving their second vectors."""
        return contrastive_loss(states["document"], encoder(batch["texts"], "document"), self.temperature)


def contrastive_loss(first: Tensor, second: Tensor, temperature: float) -> Loss:
    """Return the loss −log softmax of cosines of `first` (B, D) with `second` (B, D) of all devices, and accuracy."""
    left, right = (nn.functional.normalize(vectors.float(), dim=-1) for vectors in (first, second))
    scores = inner_products(left, gather_devices(right)) / temperature
    targets = torch.arange(len(left), device=left.device) + first_row_index(len(left))
    accuracy = (scores.argmax(dim=1) == targets).float().mean()
    return Loss(nn.functional.cross_entropy(scores, targets), {"accuracy": accuracy})
