"""Pair classification: tell the relation of two sentences from their vectors alone (SNLI, MultiNLI, QQP, SciTail)."""
