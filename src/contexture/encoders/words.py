"""Embeddings of words or subwords, which all but published Transformers draw anew."""

import torch
from torch import Tensor, nn

#: Embeddings are drawn from U[−0.1, 0.1] (Quick-Thoughts, section 4.3).
WORD_RANGE = 0.1


def new_words(count: int, size: int) -> nn.Embedding:
    """New embeddings (count, size)."""
    words = nn.Embedding(count, size)
    nn.init.uniform_(words.weight, -WORD_RANGE, WORD_RANGE)
    return words


def embedding_of(table: Tensor) -> nn.Embedding:
    """Embeddings (V, W) as they are."""
    words = nn.Embedding(len(table), table.shape[1])
    words.weight = nn.Parameter(table)
    return words


def known(ids: Tensor, words: nn.Embedding, unknown: int) -> Tensor:
    """Ids, those without an embedding replaced by the unknown word's."""
    return torch.where(ids < words.num_embeddings, ids, unknown)
