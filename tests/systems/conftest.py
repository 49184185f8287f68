"""Files that training reads, for the systems' own tests of it."""

from tests.training.fixtures import examples, tokenizer, word_examples, words

__all__ = ["examples", "tokenizer", "word_examples", "words"]
