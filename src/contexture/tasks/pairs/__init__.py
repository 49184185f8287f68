"""Pair classification: predict the relation of two sentences from their vectors (SNLI, MultiNLI, QQP, SciTail)."""
