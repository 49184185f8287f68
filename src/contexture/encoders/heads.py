"""Evidence heads on the sentence states of a joint Transformer (MSPP paper, section 3.3, figure 2)."""

import torch
from torch import Tensor, nn

from contexture.encoders.config import HeadKind, HeadStyle, LabelHeadKind

DROPOUT = 0.1


class EvidenceHead(nn.Module):
    """Two logits of each candidate, or of the input, from sentence states E (B, k+1, H).

    - `ie_k`: E_i of each candidate → (B, k, 2)
    - `ae_k`: [E_0; E_i] of each candidate → (B, k, 2)
    - `ie_1`: E_0 → (B, 1, 2)
    """

    def __init__(self, kind: HeadKind, hidden_size: int, style: HeadStyle = "linear") -> None:
        super().__init__()
        self.kind = kind
        width = 2 * hidden_size if kind == "ae_k" else hidden_size
        self.classifier = _make_classifier(width, hidden_size, 2, style)

    def forward(self, sentences: Tensor) -> Tensor:
        """Return logits (B, k, 2) of candidates from sentence states E (B, k+1, H), or (B, 1, 2) for `ie_1`."""
        first, rest = sentences[:, :1], sentences[:, 1:]
        features = first if self.kind == "ie_1" else rest
        if self.kind == "ae_k":
            features = torch.cat([first.expand_as(rest), rest], dim=-1)
        logits: Tensor = self.classifier(features)
        return logits


class LabelHead(nn.Module):
    """One label for the whole input, from states E (B, S, H) of its sentences or pairs.

    - `ie_1`: from E_0, the state of s_0 (MSPP paper, section 3.3)
    - `ae_1`: from the mean of the present states (the same section)
    - `max_pool`: from their largest entries (Tymoshenko and Moschitti, 2021)
    - `weighted_sum`: from their sum, weighted by a softmax of a linear layer's scores (the same paper)
    """

    def __init__(self, kind: LabelHeadKind, hidden_size: int, labels: int, style: HeadStyle = "linear") -> None:
        super().__init__()
        self.kind = kind
        self.weight = nn.Linear(hidden_size, 1) if kind == "weighted_sum" else None
        if self.weight is not None:
            _init_linear(self.weight)
        self.classifier = _make_classifier(hidden_size, hidden_size, labels, style)

    def forward(self, states: Tensor, present: Tensor) -> Tensor:
        """Return logits (B, labels) of the whole input from states E (B, S, H).

        `present` (B, S) has at least one true value per row.
        """
        logits: Tensor = self.classifier(self.pooled_states(states, present))
        return logits

    def pooled_states(self, states: Tensor, present: Tensor) -> Tensor:
        """Pool sentence states (B, S, H) into one vector per row (B, H)."""
        if self.kind == "ie_1":
            return states[:, 0]
        if self.kind == "max_pool":
            return states.masked_fill(~present[..., None], -torch.inf).amax(dim=1)
        if self.weight is None:
            weights = present / present.sum(dim=1, keepdim=True)
        else:
            scores = self.weight(states).squeeze(-1).float()
            weights = scores.masked_fill(~present, -torch.inf).softmax(dim=1)
        return (weights.to(states.dtype)[:, None] @ states).squeeze(1)


def _make_classifier(width: int, hidden_size: int, labels: int, style: HeadStyle) -> nn.Module:
    """Return an initialized linear layer, or the released code's two-layer classifier, from `width` to `labels`."""
    if style == "linear":
        classifier: nn.Module = nn.Linear(width, labels)
    else:
        first, last = nn.Linear(width, hidden_size), nn.Linear(hidden_size, labels)
        classifier = nn.Sequential(nn.Dropout(DROPOUT), first, nn.Tanh(), nn.Dropout(DROPOUT), last)
    for module in classifier.modules():
        if isinstance(module, nn.Linear):
            _init_linear(module)
    return classifier


def _init_linear(layer: nn.Linear) -> None:
    """Draw the layer's weights with standard deviation 0.02 and set its bias to 0."""
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)


def candidate_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy of candidates' logits (B, k, 2); `labels` (B, k): 0, 1, or −100 if empty."""
    return nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=-100)


def sentence_states(states: Tensor, pooling: Tensor) -> Tensor:
    """Return states E (B, S, H) of sentences: token states (B, T, H), averaged by the layout's `pooling` (B, S, T)."""
    return pooling.to(states.dtype) @ states
