"""Fixtures of the commands: the files that a training reads."""

from tests.training.fixtures import examples, tokenizer

__all__ = ["examples", "tokenizer"]
