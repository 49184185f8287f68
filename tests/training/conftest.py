"""Fixtures of training."""

from tests.training.fixtures import examples, tokenizer, word_examples, words

__all__ = ["examples", "tokenizer", "word_examples", "words"]
