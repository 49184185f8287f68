"""The sum of the words' embeddings (Quick-Thoughts, appendix B)."""

from torch import Tensor, nn

from contexture.encoders.config import BagOfWordsConfig
from contexture.encoders.layout import Batch
from contexture.encoders.network import Network, known, new_words
from contexture.vocabulary.tokenizers import SpecialTokens


class BagOfWords(Network):
    """The sum of the words' embeddings; 0 for a text without a word."""

    def __init__(self, config: BagOfWordsConfig, words: int, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        self.words = new_words(words, config.embedding_size)
        self.size = config.embedding_size

    def forward(self, batch: Batch) -> Tensor:
        """Batch of `word_layout` → vectors (B, D)."""
        ids, mask = known(batch["input_ids"], self.words, self.tokens.unk), batch["attention_mask"].bool()
        lengths = mask.sum(dim=1)
        starts = lengths.cumsum(0) - lengths
        return nn.functional.embedding_bag(ids[mask], self.words.weight, starts, mode="sum")

    def flops(self, lengths: Tensor) -> Tensor:
        """Additions, forward and backward, for texts of `lengths` (B,) words."""
        return 2.0 * self.words.embedding_dim * lengths.sum()
