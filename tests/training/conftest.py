"""Fixtures of training."""

from tests.training.fixtures import examples, tokenizer, training, word_examples, words

__all__ = ["examples", "tokenizer", "training", "word_examples", "words"]
