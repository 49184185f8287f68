"""Losses over the texts of a batch, of which some or all may be on this device."""

from typing import Any

import torch
from torch import Tensor

from contexture.encoders.base import Encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.layout import Sentences, select
from contexture.objectives.bitext import BitextRetrieval
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.objectives.quick_thoughts import QuickThoughts
from contexture.objectives.settings import BitextObjectiveConfig, InBatchNegativesConfig, QuickThoughtsConfig
from contexture.streams.base import TextStream, both_sides
from contexture.streams.bitext.batches import Bitext
from contexture.streams.pairs.batches import pair_batch
from contexture.streams.sentences.batches import sentence_batch
from tests.encoders.toys import TRAINED, build

LENGTHS = Lengths(query=12, document=24)


def towers(shared: bool) -> Encoder:
    config = TransformerConfig(
        hidden_size=16, layers=2, heads=2, intermediate_size=32, dropout=0.0, pooling="cls", embedding_size=8,
        shared=shared,
    )  # fmt: skip
    return build(config, lengths=LENGTHS).train()


def texts(rows: int, parts: int, longest: int, seed: int) -> Sentences:
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, longest, (rows, parts), generator=draw).numpy()
    return Sentences(torch.randint(5, TRAINED, (int(lengths.sum()),), generator=draw).numpy(), lengths)


def pairs(encoder: Encoder, rows: range, tokens_at_once: int) -> dict[str, Any]:
    """Some of eight pairs; queries are short, documents long and of very different lengths, two are the same."""
    chosen = torch.tensor(list(rows)).numpy()
    queries, documents = select(texts(8, 1, 10, 1), chosen), select(texts(8, 2, 20, 2), chosen)
    ids = torch.tensor([0, 1, 2, 3, 4, 1, 6, 7])[torch.from_numpy(chosen)]
    return pair_batch(encoder, queries, documents, tokens_at_once) | {"document_ids": ids}


def bitext_pairs(encoder: Encoder, rows: range, tokens_at_once: int) -> dict[str, Any]:
    """Some of eight pairs of parallel sentences; the first and the seventh have one source."""
    chosen = torch.tensor(list(rows)).numpy()
    sides = (select(texts(8, 1, 20, seed), chosen) for seed in (4, 5))
    ids = torch.stack([torch.tensor([0, 1, 2, 3, 4, 5, 0, 7]), torch.arange(10, 18)], dim=1)
    return both_sides(encoder, *sides, tokens_at_once) | {"ids": ids[torch.from_numpy(chosen)]}


def neighbours(encoder: Encoder, rows: range) -> dict[str, Any]:
    """Some of eight sentences; of the first four all have a context, of the last four two."""
    chosen = torch.tensor(list(rows)).numpy()
    return sentence_batch(encoder, select(texts(8, 1, 10, 3), chosen), 40) | {
        "document_numbers": torch.tensor([0, 0, 0, 0, 1, 2, 2, 3]),
        "positions": torch.tensor([0, 1, 2, 3, 0, 0, 1, 0]),
        "first": torch.tensor(rows.start),
    }


def vectors(encoder: Encoder, batch: dict[str, Any]) -> dict[str, Tensor]:
    """As the streams of texts encode a batch."""
    stream: Any = None
    return TextStream.encode(stream, encoder, batch)


def in_batch_loss(encoder: Encoder, batch: dict[str, Any], states: dict[str, Tensor] | None = None) -> Tensor:
    objective = InBatchNegatives(InBatchNegativesConfig(), encoder)
    return objective(encoder, states or vectors(encoder, batch), batch).value


def neighbour_loss(encoder: Encoder, batch: dict[str, Any], states: dict[str, Tensor] | None = None) -> Tensor:
    objective = QuickThoughts(QuickThoughtsConfig(), encoder)
    return objective(encoder, states or vectors(encoder, batch), batch).value


def bitext_vectors(encoder: Encoder, batch: dict[str, Any]) -> dict[str, Tensor]:
    """As the stream of parallel sentences encodes a batch."""
    stream: Any = Bitext
    return Bitext.encode(stream, encoder, batch)


def bitext_loss(encoder: Encoder, batch: dict[str, Any], states: dict[str, Tensor] | None = None) -> Tensor:
    objective = BitextRetrieval(BitextObjectiveConfig(), encoder)
    return objective(encoder, states or bitext_vectors(encoder, batch), batch).value
