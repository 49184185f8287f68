"""Fixtures of the commands: the files that a training reads."""

from tests.training.fixtures import examples, tokenizer, training

__all__ = ["examples", "tokenizer", "training"]
