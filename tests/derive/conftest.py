"""Fixtures of derived examples."""

from tests.training.fixtures import tokenizer

__all__ = ["tokenizer"]
