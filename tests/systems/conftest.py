"""What the systems' own tests begin with: the tables that are sampled, and the files that training reads."""

from tests.sampling.conftest import documents, paragraphs, vocabulary
from tests.training.fixtures import examples, tokenizer, word_examples, words

__all__ = ["documents", "examples", "paragraphs", "tokenizer", "vocabulary", "word_examples", "words"]
