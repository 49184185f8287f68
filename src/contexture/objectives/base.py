"""What a pre-training objective is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from contexture.encoders.layout import Batch
from contexture.encoders.transformer import TransformerEncoder
from contexture.vocabulary.tokenizers import SpecialTokens


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise, and what else is worth a curve."""

    value: Tensor
    metrics: dict[str, Tensor] = field(default_factory=dict)


class Objective(nn.Module, ABC):
    """One training signal: it may change the input first (`corrupt`), then judges the encoder's states.

    Objectives of one schedule share a forward pass over one batch, so `corrupt` must leave alone what others read.
    """

    #: Judge the states of the batch as it was before any objective corrupted it, at the price of a second pass.
    wants_clean_input: bool = False

    def corrupt(self, batch: Batch, generator: torch.Generator) -> Batch:
        """The batch that the encoder sees; every random choice comes from `generator`."""
        return batch

    @abstractmethod
    def __init__(self, config: Any, encoder: TransformerEncoder, tokens: SpecialTokens) -> None:
        """Make it from its settings, for an encoder and a vocabulary."""
        super().__init__()

    def flops(self, lengths: Tensor) -> Tensor | float:
        """Forward and backward FLOPs of layers of its own for rows of `lengths` (B,) tokens, where they count."""
        return 0.0

    @abstractmethod
    def forward(self, encoder: TransformerEncoder, states: Tensor, batch: Batch) -> Loss:
        """The loss of states (B, T, H) that `encoder` made of `batch`."""
