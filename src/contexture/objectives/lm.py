"""Left-to-right language modelling (Radford et al., 2018), a baseline of Cross-Thought."""

import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.layout import row_lengths
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.masking import Positions, prediction_loss
from contexture.objectives.settings import LmConfig


class LanguageModel(Objective):
    """Cross-entropy of each token but the first, given the previous ones."""

    def __init__(self, config: LmConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.positions = Positions(config.starts, encoder)
        self.per_token = 6.0 * encoder.hidden_size * (encoder.hidden_size + encoder.document.words.num_embeddings)

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Return the batch with the words of each row moved to positions as `starts` says."""
        (moved,) = self.positions.move([batch], generator)
        return moved

    def flops(self, batch: StreamBatch) -> Tensor:
        """Return forward and backward FLOPs of the head and the logits of all tokens but the first."""
        return self.per_token * (row_lengths(batch) - 1).sum()

    def forward(self, encoder: Encoder, states: Tensor, batch: StreamBatch) -> Loss:
        """Return the mean cross-entropy of each next token of the batch."""
        present = batch["attention_mask"][:, 1:].bool()
        return Loss(
            prediction_loss(
                encoder.transformer.token_logits(states[:, :-1][present]), batch["input_ids"][:, 1:][present]
            )
        )
