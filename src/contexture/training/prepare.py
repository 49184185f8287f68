"""What a pre-training run trains, and on what: made by each system in its own module."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback
from torch import nn
from torch.utils.data import Dataset

from contexture.objectives.base import Objective

#: Objectives → files in a folder.
Save = Callable[[dict[str, Objective], Path], None]


@dataclass(frozen=True)
class Prepared:
    """An encoder ready to be trained.

    Attributes:
        encoder: maps a batch to states.
        batches: (steps to take, rank) → batches of one device; item i is forward pass i from the first of the steps.
            None where there is nothing to train on.
        accumulated: forward passes of an optimizer step on each device.
        save: writes the encoder, its tokenizer and the heads of its objectives.
        callbacks: folder of the run → what else happens during training.
    """

    encoder: nn.Module
    batches: Callable[[range, int], Dataset[Any]] | None
    save: Save
    accumulated: int = 1
    callbacks: Callable[[Path], list[Callback]] = lambda _: []
