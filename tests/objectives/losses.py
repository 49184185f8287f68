"""Losses over the texts of a batch, on one device or several."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.layout import Sentences, select_rows
from contexture.objectives.base import Objective
from contexture.objectives.bitext import BitextRetrieval
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.objectives.margin_distillation import MarginDistillation
from contexture.objectives.quick_thoughts import QuickThoughts
from contexture.objectives.settings import (
    BitextObjectiveConfig,
    InBatchNegativesConfig,
    MarginDistillationConfig,
    QuickThoughtsConfig,
)
from contexture.streams.base import TextStream, batch_sides
from contexture.streams.bitext.batches import Bitext
from contexture.streams.pairs.batches import pair_batch
from contexture.streams.sentences.batches import sentence_batch
from tests.encoders.toys import TRAINED, build

LENGTHS = Lengths(query=12, document=24)


def towers(shared: bool = True, recompute: bool = False) -> Encoder:
    config = TransformerConfig(
        hidden_size=16, layers=2, heads=2, intermediate_size=32, dropout=0.0, pooling="cls", embedding_size=8,
        shared=shared,
    )  # fmt: skip
    encoder = build(config, lengths=LENGTHS).train()
    encoder.recompute = recompute
    return encoder


def texts(rows: int, parts: int, longest: int, seed: int) -> Sentences:
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest, (rows, parts), generator=draw).numpy()
    return Sentences(torch.randint(5, TRAINED, (int(lengths.sum()),), generator=draw).numpy(), lengths)


def pairs(encoder: Encoder, rows: range, tokens_at_once: int) -> dict[str, Any]:
    """Some of eight pairs with short queries, documents of very different lengths, and one repeated document."""
    queries, documents = (
        select_rows(texts(8, 1, 10, 1), np.array(rows)),
        select_rows(texts(8, 2, 20, 2), np.array(rows)),
    )
    ids = torch.tensor([0, 1, 2, 3, 4, 1, 6, 7])[list(rows)]
    return pair_batch(encoder, queries, documents, tokens_at_once) | {"document_ids": ids}


def hard_pairs(encoder: Encoder, rows: range, tokens_at_once: int) -> dict[str, Any]:
    """The same pairs with two negatives each, two of which are documents of other pairs."""
    numbers = np.array([(2 * row, 2 * row + 1) for row in rows]).ravel()
    negatives = encoder.batch(select_rows(texts(16, 2, 20, 6), numbers), "document", tokens_at_once)
    ids = torch.tensor([1, 20, 21, 22, 7, *range(23, 34)])[torch.from_numpy(numbers)]
    margins = torch.linspace(-1, 3, 16).view(8, 2)[list(rows)]
    return pairs(encoder, rows, tokens_at_once) | {"negative": negatives, "negative_ids": ids, "margins": margins}


def bitext_pairs(encoder: Encoder, rows: range, tokens_at_once: int) -> dict[str, Any]:
    """Some of eight pairs of parallel sentences; the first and the seventh have the same source."""
    sides = (select_rows(texts(8, 1, 20, seed), np.array(rows)) for seed in (4, 5))
    ids = torch.stack([torch.tensor([0, 1, 2, 3, 4, 5, 0, 7]), torch.arange(10, 18)], dim=1)
    return batch_sides(encoder, *sides, tokens_at_once) | {"ids": ids[list(rows)]}


def neighbours(encoder: Encoder, rows: range, tokens_at_once: int) -> dict[str, Any]:
    """Some of eight sentences. All of the first four have a context, and two of the last four."""
    return sentence_batch(encoder, select_rows(texts(8, 1, 10, 3), np.array(rows)), tokens_at_once) | {
        "document_numbers": torch.tensor([0, 0, 0, 0, 1, 2, 2, 3]),
        "positions": torch.tensor([0, 1, 2, 3, 0, 0, 1, 0]),
        "first": torch.tensor(rows.start),
    }


def vectors(encoder: Encoder, batch: dict[str, Any]) -> dict[str, Tensor]:
    """Encode a batch as the streams of texts do."""
    stream: Any = Bitext if "ids" in batch else TextStream
    negative = {"negative": encoder(batch["negative"], "document")} if "negative" in batch else {}
    return stream.encode(stream, encoder, batch) | negative  # type: ignore[no-any-return]


class Case(NamedTuple):
    """An objective with negatives on all devices."""

    encoder: Callable[[], Encoder]
    batch: Callable[[Encoder, range, int], dict[str, Any]]
    objective: Callable[[Encoder], Objective]

    def loss(self, encoder: Encoder, batch: dict[str, Any], states: dict[str, Tensor] | None = None) -> Tensor:
        return self.objective(encoder)(encoder, states or vectors(encoder, batch), batch).value  # type: ignore[no-any-return]

    def gradients(self, encoder: Encoder, tokens_at_once: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of all eight rows, and its gradients."""
        encoder.zero_grad()
        loss = self.loss(encoder, self.batch(encoder, range(8), tokens_at_once))
        loss.backward()
        return loss.detach(), {name: p.grad.clone() for name, p in encoder.named_parameters() if p.grad is not None}


def make_in_batch_negatives(encoder: Encoder) -> Objective:
    return InBatchNegatives(InBatchNegativesConfig(), encoder)


CASES = {
    "in_batch": Case(towers, pairs, make_in_batch_negatives),
    "in_batch, two networks": Case(lambda: towers(shared=False), pairs, make_in_batch_negatives),
    "in_batch, recomputed": Case(lambda: towers(recompute=True), pairs, make_in_batch_negatives),
    "hard negatives": Case(towers, hard_pairs, make_in_batch_negatives),
    "margins": Case(towers, hard_pairs, lambda encoder: MarginDistillation(MarginDistillationConfig(), encoder)),
    "bitext": Case(towers, bitext_pairs, lambda encoder: BitextRetrieval(BitextObjectiveConfig(), encoder)),
    "neighbours": Case(
        lambda: build("bidirectional", shared=False),
        neighbours,
        lambda encoder: QuickThoughts(QuickThoughtsConfig(), encoder),
    ),
}


def set_single_logit(encoder: Encoder, token: int, value: float) -> int:
    """Set every logit to 0 except that of a token. Returns the number of logits."""
    head = encoder.document.model.cls.predictions.decoder
    with torch.no_grad():
        head.weight.zero_()
        head.bias.zero_()
        head.bias[token] = value
    return head.bias.numel()
