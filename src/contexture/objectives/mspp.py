"""Multi-Sentences in Paragraph Prediction (MSPP paper, section 3.4)."""

import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.heads import EvidenceHead, candidate_loss, sentence_states
from contexture.objectives.base import Loss, Objective, StreamBatch
from contexture.objectives.settings import MsppConfig


class MultiSentencesInParagraph(Objective):
    """Binary cross-entropy over k candidates: which of s_1 … s_k share the paragraph of s_0?

    Reads `pooling` (B, k+1, T) and `labels` (B, k) of the batch.
    """

    def __init__(self, config: MsppConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.needs_clean_input = not config.masked_input
        self.head = EvidenceHead(config.head, encoder.hidden_size, config.style)

    def read_positions(self, batch: StreamBatch) -> Tensor:
        """Return the tokens (B, T) of which the states of sentences are averages."""
        pooled: Tensor = (batch["pooling"] != 0).any(dim=1)
        return pooled

    def forward(self, encoder: Encoder, states: Tensor, batch: StreamBatch) -> Loss:
        """Return the mean loss of predicting which candidates share the paragraph of s_0, and the accuracy."""
        logits = self.head(sentence_states(states, batch["pooling"]))
        labels = batch["labels"]
        present = labels >= 0
        right = (logits.argmax(-1) == labels)[present].float().mean()
        return Loss(candidate_loss(logits, labels), {"accuracy": torch.nan_to_num(right)})
