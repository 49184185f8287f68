"""Tokenizers, words and word vectors: what turns text into ids."""
