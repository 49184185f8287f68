"""Multi-Sentences in Paragraph Prediction (MSPP paper, section 3.4)."""

import torch
from torch import Tensor

from contexture.encoders.heads import EvidenceHead, candidate_loss, sentence_states
from contexture.encoders.layout import Batch
from contexture.encoders.transformer import TransformerEncoder
from contexture.objectives.base import Loss, Objective
from contexture.objectives.config import MsppConfig
from contexture.vocabulary.tokenizers import SpecialTokens


class MultiSentencesInParagraph(Objective):
    """Which of s_1 … s_k share the paragraph of s_0: binary cross-entropy over k candidates.

    Reads `pooling` (B, k+1, T) and `labels` (B, k) of the batch.
    """

    def __init__(self, config: MsppConfig, encoder: TransformerEncoder, tokens: SpecialTokens) -> None:
        super().__init__(config, encoder, tokens)
        self.wants_clean_input = not config.masked_input
        self.head = EvidenceHead(config.head, encoder.config.hidden_size, config.style)

    def forward(self, encoder: TransformerEncoder, states: Tensor, batch: Batch) -> Loss:
        """Mean over all candidates; also the share of candidates judged rightly."""
        logits = self.head(sentence_states(states, batch["pooling"]))
        labels = batch["labels"]
        there = labels >= 0
        right = (logits.argmax(-1) == labels)[there].float().mean()
        return Loss(candidate_loss(logits, labels), {"accuracy": torch.nan_to_num(right)})
