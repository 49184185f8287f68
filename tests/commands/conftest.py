"""Fixtures: the input files of training."""

from tests.training.fixtures import examples, tokenizer, training

__all__ = ["examples", "tokenizer", "training"]
