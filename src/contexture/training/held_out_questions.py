"""Held-out pairs as questions: how well an encoder finds their passages."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from contexture.encoders.base import to_device
from contexture.objectives.in_batch_negatives import in_batch_scores
from contexture.streams.base import Stream
from contexture.training.module import ScheduledObjectives


@dataclass(frozen=True)
class HeldOutQuestions:
    """Batches of held-out pairs, always the same ones. The first text of a pair is the question."""

    stream: Stream
    #: Batches, as large as those of an optimizer step.
    count: int

    @cached_property
    def batches(self) -> list[dict[str, Any]]:
        """The batches of this device."""
        return [self.stream.batch(number, 0) for number in range(self.count)]

    def measure(self, module: ScheduledObjectives) -> float:
        """Return the mean reciprocal rank of this device's passages among those of their batch on all devices."""
        ranks = []
        for batch in self.batches:
            moved = to_device(batch, module.device)
            vectors = self.stream.encode(module.encoder, moved)
            scores, targets = in_batch_scores(vectors["query"], vectors["document"], moved["document_ids"])
            ranks.append(reciprocal_ranks(scores, targets))
        return float(torch.cat(ranks).double().mean())


def reciprocal_ranks(scores: Tensor, targets: Tensor) -> Tensor:
    """Return 1/rank (B,) of the `targets` (B,) among the columns of `scores` (B, N), after equal scores."""
    target_scores = scores.gather(1, targets[:, None])
    return 1 / (scores >= target_scores).sum(dim=1)
