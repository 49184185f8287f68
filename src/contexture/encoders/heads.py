"""Evidence heads on the sentence states of a joint Transformer (MSPP paper, section 3.3, figure 2)."""

import torch
from torch import Tensor, nn

from contexture.encoders.config import HeadKind, HeadStyle


class EvidenceHead(nn.Module):
    """Classify each candidate, or the whole input, from the sentence states E of shape (B, k+1, H).

    - `ie_k`: E_i of each candidate → (B, k, labels)
    - `ae_k`: [E_0; E_i] of each candidate → (B, k, labels)
    - `ie_1`: E_0 → (B, 1, labels)

    `style` is `linear` (paper) or `released` (dropout, dense, tanh, dropout, linear, as in the authors' code). Two
    logits a label decision, as the authors' code and the published parameter count have it.
    """

    def __init__(self, kind: HeadKind, hidden_size: int, style: HeadStyle = "linear", dropout: float = 0.1) -> None:
        super().__init__()
        self.kind = kind
        width = 2 * hidden_size if kind == "ae_k" else hidden_size
        self.classifier: nn.Module
        if style == "linear":
            self.classifier = nn.Linear(width, 2)
        else:
            self.classifier = nn.Sequential(
                nn.Dropout(dropout),
                nn.Linear(width, hidden_size),
                nn.Tanh(),
                nn.Dropout(dropout),
                nn.Linear(hidden_size, 2),
            )
        for module in self.modules():
            if isinstance(module, nn.Linear):  # BERT's own initialisation
                nn.init.normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def forward(self, sentences: Tensor) -> Tensor:
        """E (B, k+1, H) → logits (B, k, 2), or (B, 1, 2) for `ie_1`."""
        first, rest = sentences[:, :1], sentences[:, 1:]
        if self.kind == "ie_1":
            features = first
        elif self.kind == "ie_k":
            features = rest
        else:
            features = torch.cat([first.expand_as(rest), rest], dim=-1)
        logits: Tensor = self.classifier(features)
        return logits


def candidate_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy over the candidates that are there.

    `logits` (B, k, 2), `labels` (B, k) of 0, 1 or −100 for an empty slot.
    """
    return nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=-100)


def sentence_states(states: Tensor, pooling: Tensor) -> Tensor:
    """E_i: the mean of token states, weighted as the layout says. (B, T, H), (B, S, T) → (B, S, H)."""
    return pooling.to(states.dtype) @ states
