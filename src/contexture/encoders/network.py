"""What one network of an encoder is, whatever its architecture."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from contexture.encoders.layout import Batch, Sentences, Specials, word_layout
from contexture.vocabulary.tokenizers import SpecialTokens


class Network(nn.Module, ABC):
    """Maps texts to vectors; its input is laid out by itself."""

    words: nn.Embedding
    #: What each token counts in the mean; None where all count alike.
    token_weights: Tensor | None
    #: Length of the vectors.
    size: int

    def __init__(self, tokens: SpecialTokens) -> None:
        super().__init__()
        self.tokens = tokens
        self.register_buffer("token_weights", None)

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """A batch that `chunks` made → vectors (B, D)."""

    @abstractmethod
    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs for texts of `lengths` (B,) tokens."""

    def vectors(self, batches: Sequence[Batch]) -> Tensor:
        """Several batches → vectors (B, D)."""
        return torch.cat([self(batch) for batch in batches])

    def chunks(self, texts: Sentences, limit: int, tokens_at_once: int) -> tuple[list[Batch], Tensor]:
        """Texts → batches, each text cut to `limit` tokens, and (B,) the place of each in their concatenation.

        The parts of a text are read as one sequence of words; nothing here computes padding, so one batch will do.
        """
        joined = Sentences(texts.tokens, texts.lengths.sum(axis=1, keepdims=True))
        return [word_layout(joined, self.tokens.pad, limit)], torch.arange(len(texts.lengths))

    @property
    def specials(self) -> Specials:
        """How it places special tokens and positions."""
        return Specials(cls=self.tokens.cls, sep=self.tokens.sep, pad=self.tokens.pad)
