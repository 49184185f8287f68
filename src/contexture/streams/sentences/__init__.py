"""Sentences: `contiguous`, in the order of the corpus, and `sentences`, at random."""
