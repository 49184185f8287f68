"""Encoders that ignore the order of tokens: sums and means of embeddings, and BoW-MLP."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from contexture.encoders.config import BagOfWordsConfig, BagOfWordsMlpConfig, StaticConfig
from contexture.encoders.layout import Batch
from contexture.encoders.network import Network, new_embedding, pool
from contexture.vocabulary.tokenizers import SpecialTokens


class BagOfWords(Network):
    """The sum of the words' embeddings (Quick-Thoughts, appendix B); 0 for a text without a word."""

    def __init__(self, config: BagOfWordsConfig | StaticConfig, words: int, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        self.words = new_embedding(words, config.embedding_size)
        self.size = config.embedding_size

    def forward(self, batch: Batch) -> Tensor:
        """Return the sum of each text's word embeddings, (B, D), of a batch of `word_layout`."""
        ids, starts, _ = self._flatten_words(batch)
        return embedding_bag(ids, self.words.weight, starts, mode="sum")

    def flops(self, lengths: Tensor) -> Tensor:
        """Return the total of additions, forward and backward, for texts of `lengths` (B,) words."""
        return 2.0 * self.words.embedding_dim * lengths.sum()

    def _flatten_words(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ids of all words of a batch in one row, and the start and length (B,) of each text in it."""
        mask = batch["attention_mask"].bool()
        lengths = mask.sum(dim=1)
        ids = self.replace_unknown(batch["input_ids"])[mask]
        return ids, lengths.cumsum(0) - lengths, lengths


class Static(BagOfWords):
    """The weighted mean of the tokens' embeddings."""

    def __init__(self, config: StaticConfig, words: int, tokens: SpecialTokens) -> None:
        super().__init__(config, words, tokens)
        if config.has_token_weights:
            self.token_weights = torch.ones(words)

    def forward(self, batch: Batch) -> Tensor:
        """Return the (weighted) mean of each text's token embeddings, (B, D); 0 for a text without a token."""
        ids, starts, lengths = self._flatten_words(batch)
        if self.token_weights is None:
            return embedding_bag(ids, self.words.weight, starts, mode="mean")
        weights = self.token_weights[ids]
        rows = torch.repeat_interleave(torch.arange(len(lengths), device=ids.device), lengths)
        sums = torch.zeros(len(lengths), device=ids.device).index_add_(0, rows, weights)
        by_token: Any = weights.to(self.words.weight.dtype)
        vectors = embedding_bag(ids, self.words.weight, starts, mode="sum", per_sample_weights=by_token)
        return vectors / sums.clamp_min(1e-6)[:, None]

    def flops(self, lengths: Tensor) -> Tensor:
        """Return the total of products and additions, forward and backward, for texts of `lengths` (B,) tokens."""
        return 4.0 * self.words.embedding_dim * lengths.sum()


class BagOfWordsMlp(Network):
    """Two tanh layers on the mean of the tokens' embeddings, special tokens included (two-tower, section 4.2)."""

    has_special_tokens = True

    def __init__(self, config: BagOfWordsMlpConfig, words: int, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        self.size = config.embedding_size
        self.words = nn.Embedding(words, config.word_size)
        nn.init.normal_(self.words.weight, std=0.05)
        self.hidden = nn.Linear(config.word_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.embedding_size)
        # The mean of many small embeddings is small: without this gain all texts would start almost equal.
        nn.init.xavier_normal_(self.hidden.weight, gain=4.0)
        nn.init.xavier_normal_(self.output.weight)

    def forward(self, batch: Batch) -> Tensor:
        """Return two tanh layers' output (B, D) on the means of token embeddings of a batch of `text_layout`."""
        words = self.words(self.replace_unknown(batch["input_ids"]))
        return torch.tanh(self.output(torch.tanh(self.hidden(pool(words, batch["attention_mask"], "mean")))))

    def flops(self, lengths: Tensor) -> Tensor:
        """Return the total forward and backward FLOPs of the two layers for texts of `lengths` (B,) tokens."""
        return torch.tensor(6.0 * len(lengths) * (self.hidden.weight.numel() + self.output.weight.numel()))
