"""Masked language modelling (BERT; Devlin et al., 2019, section 3.1)."""

import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.masking import IGNORED_TARGET, Masking, Positions, masked_logits, prediction_loss
from contexture.objectives.settings import MlmConfig


class MaskedLanguageModel(Objective):
    """Cross-entropy of the masked tokens. Logits are computed at those positions only."""

    def __init__(self, config: MlmConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.masking, self.positions = Masking(config.probability, encoder), Positions(config.starts, encoder)

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Return the batch with masked input, words moved as `starts` says, and `mlm_targets` (B, T)."""
        ids, targets = self.masking(batch, generator)
        (moved,) = self.positions.move([batch], generator)
        return {**moved, "input_ids": ids, "mlm_targets": targets}

    def read_positions(self, batch: StreamBatch) -> Tensor:
        """Return the masked tokens (B, T)."""
        masked: Tensor = batch["mlm_targets"] != IGNORED_TARGET
        return masked

    def flops(self, batch: StreamBatch) -> Tensor:
        """Return forward and backward FLOPs of head and logits for the expected number of masked tokens."""
        return self.masking.per_masked * self.masking.expected(batch).sum()

    def forward(self, encoder: Encoder, states: Tensor, batch: StreamBatch) -> Loss:
        """Return the mean cross-entropy of the masked tokens of the batch; 0 without any."""
        return Loss(prediction_loss(*masked_logits(encoder, states, batch["mlm_targets"])))
