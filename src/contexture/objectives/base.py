"""What a training objective is."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.base_config import ObjectiveConfig


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise, and what else is worth a curve."""

    value: Tensor
    metrics: dict[str, Tensor] = field(default_factory=dict)


#: What an encoder made of a batch: states (B, T, H) of tokens, or vectors (B, D) of texts by role.
States = Any
#: A batch of one stream; see `training.streams`.
StreamBatch = Mapping[str, Any]


class Objective(nn.Module, ABC):
    """One training signal: it may change a batch first (`corrupt`), then judges what the encoder makes of it.

    Objectives of one stream share a batch and its encoding, so `corrupt` must leave alone what others read.
    """

    #: Judge the states of the batch as it was before any objective corrupted it, at the price of a second pass.
    needs_clean_input: bool = False
    #: Whether what it measures in this pass goes into the curves: what costs more than a glance is measured then alone.
    is_logged: bool = False

    def __init__(self, config: ObjectiveConfig, encoder: Encoder) -> None:
        """Make it from its settings, for an encoder."""
        super().__init__()

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """The batch that the encoder sees; every random choice comes from `generator`."""
        return batch

    def inspect(self, encoder: Encoder, batches: Iterable[StreamBatch]) -> dict[str, Any]:
        """What can be seen of a finished training, as plain values: of a few examples, one a batch, as they are."""
        return {}

    def flops(self, batch: StreamBatch) -> Tensor | float:
        """Forward and backward FLOPs of layers of its own for a batch, where they count."""
        return 0.0

    @abstractmethod
    def forward(self, encoder: Encoder, states: States, batch: StreamBatch) -> Loss:
        """The loss of what `encoder` made of `batch`."""
