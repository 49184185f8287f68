"""The interface of an encoder's networks, embeddings of tokens, and pooling."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from contexture.encoders.layout import Batch, Sentences, SpecialTokenFormat, text_chunks, word_layout
from contexture.vocabulary.tokenizers import SpecialTokens
from contexture.vocabulary.vocabulary import Vocabulary

#: Embeddings are drawn from U[−0.1, 0.1] (Quick-Thoughts, section 4.3).
INIT_RANGE = 0.1


class Network(nn.Module, ABC):
    """Maps texts to vectors."""

    words: nn.Embedding
    #: The weight of each token in the mean; None if all are equal.
    token_weights: Tensor | None
    #: Length of the vectors.
    size: int
    #: Whether texts get special tokens.
    has_special_tokens: ClassVar[bool] = False

    def __init__(self, tokens: SpecialTokens) -> None:
        super().__init__()
        self.tokens = tokens
        self.register_buffer("token_weights", None)

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Return vectors (B, D) of the texts of a batch from `chunks`."""

    @abstractmethod
    def flops(self, lengths: Tensor) -> Tensor:
        """Return the total forward and backward FLOPs for texts of `lengths` (B,) tokens."""

    def vectors(self, batches: Sequence[Batch]) -> Tensor:
        """Return vectors (B, D) of the texts of several batches, concatenated."""
        return torch.cat([self(batch) for batch in batches])

    def chunks(self, texts: Sentences, limit: int, tokens_at_once: int) -> tuple[list[Batch], Tensor]:
        """Return batches of texts cut to `limit` tokens, and the position (B,) of each text in their concatenation.

        Networks without special tokens do not compute padding: they get one batch, with the parts of texts joined.
        """
        if self.has_special_tokens:
            return text_chunks(texts, self.specials, limit, tokens_at_once)
        joined = Sentences(texts.tokens, texts.lengths.sum(axis=1, keepdims=True))
        return [word_layout(joined, self.tokens.pad, limit)], torch.arange(len(texts.lengths))

    def replace_unknown(self, ids: Tensor) -> Tensor:
        """Return token ids with those that have no embedding replaced by the unknown word's."""
        return torch.where(ids < self.words.num_embeddings, ids, self.tokens.unk)

    @property
    def specials(self) -> SpecialTokenFormat:
        """The special tokens' ids, and how they and positions are arranged in the network's input."""
        return SpecialTokenFormat(cls=self.tokens.cls, sep=self.tokens.sep, pad=self.tokens.pad)


def new_embedding(count: int, size: int) -> nn.Embedding:
    """Return an embedding layer (count, size) with new, uniform random weights."""
    words = nn.Embedding(count, size)
    nn.init.uniform_(words.weight, -INIT_RANGE, INIT_RANGE)
    return words


def make_embedding(table: Tensor) -> nn.Embedding:
    """Return an embedding layer with the given weights (V, W)."""
    words = nn.Embedding(len(table), table.shape[1])
    words.weight = nn.Parameter(table)
    return words


def copy_word_vectors(network: Network, vocabulary: Vocabulary) -> None:
    """Replace a network's new embeddings, in place, by the vocabulary's vectors, scaled to the same mean square.

    Tokens without a vector keep theirs, as do entries that are 0 in all embeddings or beyond the vectors' length.
    Raises ValueError, naming the file, if the vocabulary has no vectors.
    """
    table = network.words.weight
    width = int(table.any(dim=0).sum())
    vectors = torch.from_numpy(np.array(vocabulary.vectors[: len(table), :width]))
    has_vector = (vectors != 0).any(dim=1)
    with torch.no_grad():
        scale = table[:, :width].square().mean().sqrt() / vectors[has_vector].square().mean().sqrt()
        table[: len(vectors), : vectors.shape[1]][has_vector] = vectors[has_vector] * scale


def fill_token_weights(weights: Tensor, vocabulary: Vocabulary) -> None:
    """Fill `weights`, in place, with inverse document frequencies; raises ValueError if the vocabulary has none."""
    idf = torch.from_numpy(vocabulary.idf[: len(weights)])
    weights[: len(idf)] = idf


def pool(states: Tensor, weights: Tensor, pooling: str) -> Tensor:
    """Pool states (B, T, H) with weights (B, T), 0 for padding, into vectors (B, H).

    `cls`: the first state; `last`: the last one; `max`: the largest entries; `mean` and `idf`: the weighted mean.
    """
    if pooling == "cls":
        return states[:, 0]
    if pooling == "last":
        return states[torch.arange(len(states), device=states.device), weights.sum(dim=1) - 1]
    if pooling == "max":
        return states.masked_fill(weights[:, :, None] == 0, -torch.inf).amax(dim=1)
    weights = weights.to(states.dtype)
    return torch.einsum("bth,bt->bh", states, weights) / weights.sum(dim=1, keepdim=True).clamp_min(1e-6)


class Projections(nn.Module):
    """Map vectors (B, H) to views (B, N, H): the vector itself and N − 1 perceptrons of it (CMLM, section 2).

    A perceptron has layers of H × 2H, 2H × 2H and 2H × H, the first two with ReLU: 8H² + 5H parameters (appendix C).
    """

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.count = count
        wide = 2 * width
        self.perceptrons = nn.ModuleList(
            nn.Sequential(nn.Linear(width, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, width))
            for _ in range(count - 1)
        )

    def forward(self, vectors: Tensor) -> Tensor:
        """Return N views (B, N, H) of vectors (B, H): the vectors themselves and N − 1 perceptrons of them."""
        views = [vectors, *(perceptron(vectors) for perceptron in self.perceptrons)][: self.count]
        return torch.stack(views, dim=1) if views else vectors[:, None][:, :0]
