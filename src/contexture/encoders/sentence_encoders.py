"""Encoders of sentences as sequences of words, and the pair of them, f and g, of Quick-Thoughts (section 3)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from contexture.encoders.config import (
    BagOfWordsSentences,
    GruSentences,
    SentenceEncoderConfig,
    SentenceLayoutConfig,
    TransformerSentences,
)
from contexture.encoders.layout import Batch, Sentences, Specials, text_chunks, word_layout
from contexture.encoders.packed_gru import run_gru
from contexture.encoders.towers import TransformerTower
from contexture.encoders.transformer import build_encoder
from contexture.vocabulary.tokenizers import SpecialTokens

#: `sentences`, a list of batches of like length; `rows` (B,), where each sentence stands in their concatenation. In
#: training also `document_numbers` and `positions` (R·B,), of the sentences of all devices, and `first`, the place of
#: this device's first one among them.
SentenceBatch = Mapping[str, Any]

#: Embeddings are drawn from U[−0.1, 0.1] (section 4.3).
WORD_RANGE = 0.1


class Gru(nn.Module):
    """A GRU of one layer, in one or both directions; the last states are the vector."""

    def __init__(self, config: GruSentences, words: nn.Embedding, unknown: int) -> None:
        super().__init__()
        self.words, self.unknown = words, unknown
        size = config.embedding_size // (1 + config.bidirectional)
        self.gru = nn.GRU(words.embedding_dim, size, bidirectional=config.bidirectional)
        initialise_gru(self.gru)

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `word_layout` → vectors (B, D)."""
        lengths = batch["attention_mask"].sum(dim=1)
        packed = pack_padded_sequence(batch["input_ids"], lengths.cpu(), batch_first=True, enforce_sorted=False)
        words = self.words(known(packed.data, self.words, self.unknown))
        _, last = run_gru(self.gru, packed._replace(data=words))
        return last.transpose(0, 1).flatten(1)

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs of the layer for sentences of `lengths` (B,) words."""
        return 6.0 * sum(p.numel() for p in self.gru.parameters()) * lengths.sum()


class BagOfWords(nn.Module):
    """The sum of the words' embeddings."""

    def __init__(self, words: nn.Embedding, unknown: int) -> None:
        super().__init__()
        self.words, self.unknown = words, unknown

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `word_layout` → vectors (B, D)."""
        ids, mask = known(batch["input_ids"], self.words, self.unknown), batch["attention_mask"].bool()
        lengths = mask.sum(dim=1)
        starts = lengths.cumsum(0) - lengths
        return nn.functional.embedding_bag(ids[mask], self.words.weight, starts, mode="sum")

    def flops(self, lengths: Tensor) -> Tensor:
        """Additions, forward and backward, for sentences of `lengths` (B,) words."""
        return 2.0 * self.words.embedding_dim * lengths.sum()


class Transformer(nn.Module):
    """A Transformer over words; the mean of its states through a linear layer is the vector."""

    def __init__(self, config: TransformerSentences, positions: int, tokens: SpecialTokens) -> None:
        super().__init__()
        model = build_encoder(config.encoder, positions, 1, tokens).model.base_model
        self.tower = TransformerTower(model, "mean", config.embedding_size)
        self.words, self.unknown = model.get_input_embeddings(), tokens.unk

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `text_layout` → vectors (B, D)."""
        vectors: Tensor = self.tower(batch | {"input_ids": known(batch["input_ids"], self.words, self.unknown)})
        return vectors

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs of the layers for sentences of `lengths` (B,) tokens."""
        return self.tower.flops(lengths)


class SentenceEncoders(nn.Module):
    """f, which reads a sentence, and g, which reads its neighbours; or f alone."""

    def __init__(
        self, f: nn.Module, g: nn.Module | None, config: SentenceEncoderConfig, layout: SentenceLayoutConfig
    ) -> None:
        super().__init__()
        self.f, self.g = f, g
        self.config, self.layout = config, layout

    @property
    def size(self) -> int:
        """Length of a test vector."""
        return self.config.embedding_size * len(self.encoders)

    @property
    def encoders(self) -> list[Any]:
        """f, and g if there is one."""
        return [self.f] if self.g is None else [self.f, self.g]

    def forward(self, batch: SentenceBatch) -> Tensor:
        """Vectors (1 or 2, B, D): those of f, then those of g, in the order of the sentences."""
        found = [torch.cat([encoder(chunk) for chunk in batch["sentences"]]) for encoder in self.encoders]
        return torch.stack(found)[:, batch["rows"]]

    def test_vectors(self, batch: SentenceBatch, unit: bool = True) -> Tensor:
        """[f(s); g(s)] (section 3), (B, `size`): what evaluations read.

        `unit`: each of the two is brought to length 1 before (released code); a vector of 0 stays.
        """
        vectors = self(batch).float()
        return torch.cat([*(nn.functional.normalize(vectors, dim=-1) if unit else vectors)], dim=-1)

    def batch(self, sentences: Sentences, tokens: SpecialTokens, tokens_at_once: int) -> dict[str, Any]:
        """Sentences of one part → the batch that the encoders read.

        Only Transformers take it in chunks of like length, of `tokens_at_once`: the others compute no padding.
        """
        limit = self.layout.sentence_words
        if self.config.kind != "transformer":
            rows = torch.arange(len(sentences.lengths))
            return {"sentences": [word_layout(sentences, tokens.pad, limit)], "rows": rows}
        specials = Specials(cls=tokens.cls, sep=tokens.sep, pad=tokens.pad)
        chunks, rows = text_chunks(sentences, specials, limit + 2, tokens_at_once)
        return {"sentences": chunks, "rows": rows}

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs for sentences of `lengths` (B,) words."""
        return torch.stack([encoder.flops(lengths) for encoder in self.encoders]).sum()


def embedding_of(table: Tensor) -> nn.Embedding:
    """Embeddings (V, W) as they are."""
    words = nn.Embedding(len(table), table.shape[1])
    words.weight = nn.Parameter(table)
    return words


def known(ids: Tensor, words: nn.Embedding, unknown: int) -> Tensor:
    """Ids, those without an embedding replaced by the unknown word's."""
    return torch.where(ids < words.num_embeddings, ids, unknown)


def initialise_gru(gru: nn.GRU) -> None:
    """Xavier uniform for each gate's matrices, 1 for the biases of reset and update gates (section 4.3).

    PyTorch adds two biases, which together make the paper's one.
    """
    size = gru.hidden_size
    for name, parameter in gru.named_parameters():
        if name.startswith("weight"):
            for gate in torch.split(parameter, size):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(parameter)
            if name.startswith("bias_ih"):
                nn.init.ones_(parameter[: 2 * size])


def build_sentence_encoders(
    config: SentenceEncoderConfig,
    layout: SentenceLayoutConfig,
    tokens: SpecialTokens,
    trained: int,
    vectors: npt.NDArray[np.float32] | None,
    pair: bool,
) -> SentenceEncoders:
    """New encoders: f and g, or f alone.

    Args:
        config: of the kind and the sizes; f and g share nothing but fixed word vectors.
        layout: how sentences are cut.
        tokens: the special tokens of the vocabulary.
        trained: words that get embeddings of their own: the ids below this.
        vectors: (V, W) word vectors, row = id; needed for fixed ones alone.
        pair: whether there is a g.
    """
    fixed = None
    if config.kind == "gru" and config.words == "fixed":
        if vectors is None:
            raise ValueError("an encoder with fixed words needs word vectors; run the vocabulary stage")
        fixed = embedding_of(torch.from_numpy(np.array(vectors))).requires_grad_(False)

    def one() -> nn.Module:
        if isinstance(config, TransformerSentences):
            return Transformer(config, layout.sentence_words + 2, replace(tokens, vocab_size=trained))
        if isinstance(config, BagOfWordsSentences):
            return BagOfWords(_embeddings(trained, config.embedding_size), tokens.unk)
        return Gru(config, fixed or _embeddings(trained, config.word_size), tokens.unk)

    return SentenceEncoders(one(), one() if pair else None, config, layout)


def _embeddings(count: int, size: int) -> nn.Embedding:
    words = nn.Embedding(count, size)
    nn.init.uniform_(words.weight, -WORD_RANGE, WORD_RANGE)
    return words
