"""Contexture: sentence and passage encoders from the text around them."""

__version__ = "0.1.0"
