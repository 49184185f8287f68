"""Losses over vectors: their gradients equal finite differences, so no side is treated as a constant."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from contexture.encoders.base import Encoder
from contexture.objectives.bitext import BitextRetrieval
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.objectives.margin_distillation import MarginDistillation
from contexture.objectives.nli import NaturalLanguageInference
from contexture.objectives.quick_thoughts import QuickThoughts
from contexture.objectives.settings import (
    BitextObjectiveConfig,
    InBatchNegativesConfig,
    MarginDistillationConfig,
    NliConfig,
    QuickThoughtsConfig,
    TsdaeConfig,
)
from contexture.objectives.simcse import contrastive_loss
from contexture.objectives.tsdae import Tsdae
from contexture.streams.sentences.batches import sentence_batch
from tests.encoders.toys import build, contiguous, sentences

#: Four rows of vectors of size 4, and two further negatives of each.
BATCH: dict[str, Any] = {
    "document_ids": torch.tensor([0, 1, 2, 1]),
    "negative_ids": torch.tensor([1, 20, 21, 22, 23, 0, 24, 25]),
    "margins": torch.linspace(-1, 3, 8).view(4, 2),
    "ids": torch.arange(8).view(4, 2),
    "labels": torch.tensor([0, 2, 1, 1]),
}
PAIRS = ("query", "document")
#: Name → sides, and a function of the encoder, their vectors and the batch.
LOSSES: dict[str, tuple[tuple[str, ...], Callable[[Encoder, dict[str, Tensor], dict[str, Any]], Tensor]]] = {
    "in_batch": (
        (*PAIRS, "negative"),
        lambda encoder, states, batch: (
            InBatchNegatives(InBatchNegativesConfig(), encoder)(encoder, states, batch).value
        ),
    ),
    "margins": (
        (*PAIRS, "negative"),
        lambda encoder, states, batch: (
            MarginDistillation(MarginDistillationConfig(), encoder)(encoder, states, batch).value
        ),
    ),
    "bitext": (
        ("source", "target"),
        lambda encoder, states, batch: BitextRetrieval(BitextObjectiveConfig(), encoder)(encoder, states, batch).value,
    ),
    "bitext, cosines": (
        ("source", "target"),
        lambda encoder, states, batch: (
            BitextRetrieval(BitextObjectiveConfig(scale=5.0), encoder)(encoder, states, batch).value
        ),
    ),
    "nli": (("premise", "hypothesis"), lambda encoder, states, batch: batch["nli"](encoder, states, batch).value),
    "simcse": (PAIRS, lambda _, states, __: contrastive_loss(states["query"], states["document"], 0.2).value),
    "quick_thoughts": (
        PAIRS,
        lambda encoder, states, batch: (
            QuickThoughts(QuickThoughtsConfig(), encoder)(
                nn.Identity(), states, batch | contiguous(encoder, [5], [6], [7], [8])
            ).value
        ),
    ),
    "tsdae": (("document",), lambda encoder, states, batch: batch["tsdae"](encoder, states, batch).value),
}


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_gradient_of_each_side_is_that_of_finite_differences(name: str) -> None:
    encoder = build("bag_of_words")
    nn.init.normal_(encoder.document.words.weight)
    batch = BATCH | sentence_batch(encoder, sentences([5, 6], [7], [8, 9, 10], [11]), 64)
    batch |= {"nli": NaturalLanguageInference(NliConfig(), encoder), "tsdae": Tsdae(TsdaeConfig(), encoder).eval()}
    nn.init.normal_(batch["nli"].linear.weight)
    draw = torch.Generator().manual_seed(0)
    sides, loss = LOSSES[name]
    states = {side: torch.randn(8 if side == "negative" else 4, 4, generator=draw) for side in sides}
    for side in sides:
        vectors = states[side].clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(encoder, states | {side: vectors}, batch), vectors)
        change = 1e-2 * torch.randn(vectors.shape, generator=draw)
        with torch.no_grad():
            ends = [loss(encoder, states | {side: vectors + sign * change}, batch) for sign in (1, -1)]
        slope = float(ends[0] - ends[1]) / 2
        assert float((gradient * change).sum()) == pytest.approx(slope, rel=1e-2) and abs(slope) > 1e-4
