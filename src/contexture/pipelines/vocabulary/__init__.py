"""Paragraphs to tokenizers."""
