"""Base classes of training objectives."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.base_config import ObjectiveConfig


@dataclass(frozen=True)
class Loss:
    """A scalar to minimise, and metrics for the training curves."""

    value: Tensor
    metrics: dict[str, Tensor] = field(default_factory=dict)


#: An encoder's output: states (B, T, H) of tokens, or vectors (B, D) of texts by role.
States = Any
#: A batch of one stream; see `streams.base`.
StreamBatch = Mapping[str, Any]


class Objective(nn.Module, ABC):
    """A training signal. `corrupt` may change a batch; `forward` computes the loss of the encoder's states.

    Objectives of one stream share a batch and its encoding, so `corrupt` must not change what others read.
    """

    #: Whether it reads states of the uncorrupted batch, which costs a second pass.
    needs_clean_input: bool = False
    #: Whether this pass is logged. Expensive metrics are computed only then.
    is_logged: bool = False
    #: Number of devices, whose batches may be read, too.
    devices: int = 1

    def __init__(self, config: ObjectiveConfig, encoder: Encoder) -> None:
        """Create the objective of an encoder from its settings."""
        super().__init__()

    def corrupt(self, batch: StreamBatch, generator: torch.Generator) -> StreamBatch:
        """Return the batch that the encoder reads, such as with masked tokens; by default unchanged.

        `generator` makes all random choices.
        """
        return batch

    def read_positions(self, batch: StreamBatch) -> Tensor | None:
        """Return the tokens (B, T) of a corrupted batch whose states `forward` reads; by default None, all."""
        return None

    def inspect(self, encoder: Encoder, batches: Iterable[StreamBatch]) -> dict[str, Any]:
        """Return plain values that show what was learned, for the report of a finished training; by default none.

        `batches`: unmasked batches of one example each.
        """
        return {}

    def flops(self, batch: StreamBatch) -> Tensor | float:
        """Return forward and backward FLOPs of the objective's own layers for a batch; by default 0."""
        return 0.0

    @abstractmethod
    def forward(self, encoder: Encoder, states: States, batch: StreamBatch) -> Loss:
        """Return the loss and metrics of a batch from the encoder's `states` of it."""


def mark_read_positions(batch: StreamBatch, objectives: Iterable[Objective]) -> StreamBatch:
    """Return a batch with `read` (B, T), the tokens whose states any of its objectives reads, unless one reads all."""
    positions = [objective.read_positions(batch) for objective in objectives]
    masks = [mask for mask in positions if mask is not None]
    return {**batch, "read": reduce(or_, masks)} if len(masks) == len(positions) else batch
