"""BoW-MLP: the mean of the tokens' embeddings through two tanh layers (two-tower paper, section 4.2)."""

import torch
from torch import Tensor, nn

from contexture.encoders.config import BagOfWordsMlpConfig
from contexture.encoders.layout import Batch
from contexture.encoders.network import Network, known, pool
from contexture.vocabulary.tokenizers import SpecialTokens


class BagOfWordsMlp(Network):
    """The mean of the tokens' embeddings, special ones included, through two tanh layers."""

    adds_specials = True

    def __init__(self, config: BagOfWordsMlpConfig, words: int, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        self.size = config.embedding_size
        self.words = nn.Embedding(words, config.word_size)
        nn.init.normal_(self.words.weight, std=0.05)
        self.hidden = nn.Linear(config.word_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.embedding_size)
        for layer in (self.hidden, self.output):
            # The mean of many small embeddings is small: without a gain all texts would start at one point.
            nn.init.xavier_normal_(layer.weight, gain=4.0 if layer is self.hidden else 1.0)

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `text_layout` → vectors (B, D)."""
        words = self.words(known(batch["input_ids"], self.words, self.tokens.unk))
        return torch.tanh(self.output(torch.tanh(self.hidden(pool(words, batch["attention_mask"], "mean")))))

    def flops(self, lengths: Tensor) -> Tensor:
        """Forward and backward FLOPs of the two layers for texts of `lengths` (B,) tokens."""
        return torch.tensor(6.0 * len(lengths) * (self.hidden.weight.numel() + self.output.weight.numel()))
