"""A static encoder: the mean of wide token embeddings, weighted or not."""

import torch
from torch import Tensor, nn

from contexture.encoders.config import StaticConfig
from contexture.encoders.layout import Batch
from contexture.encoders.network import Network, known, new_words
from contexture.vocabulary.tokenizers import SpecialTokens


class Static(Network):
    """The weighted mean of the tokens' embeddings; a token's vector depends on no other token."""

    def __init__(self, config: StaticConfig, words: int, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        self.words = new_words(words, config.embedding_size)
        self.size = config.embedding_size
        if config.weighs_tokens:
            self.token_weights = torch.ones(words)

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `word_layout` → vectors (B, D); 0 for a text without a token."""
        mask = batch["attention_mask"].bool()
        ids = known(batch["input_ids"], self.words, self.tokens.unk)[mask]
        lengths = mask.sum(dim=1)
        starts = lengths.cumsum(0) - lengths
        if self.token_weights is None:
            return nn.functional.embedding_bag(ids, self.words.weight, starts, mode="mean")
        weights = self.token_weights[ids]
        rows = torch.repeat_interleave(torch.arange(len(lengths), device=ids.device), lengths)
        sums = torch.zeros(len(lengths), device=ids.device).index_add_(0, rows, weights)
        vectors = nn.functional.embedding_bag(
            ids, self.words.weight, starts, mode="sum", per_sample_weights=weights.to(self.words.weight.dtype)
        )
        return vectors / sums.clamp_min(1e-6)[:, None]

    def flops(self, lengths: Tensor) -> Tensor:
        """Products and additions, forward and backward, for texts of `lengths` (B,) tokens."""
        return 4.0 * self.words.embedding_dim * lengths.sum()
