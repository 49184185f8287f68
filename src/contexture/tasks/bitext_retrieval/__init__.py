"""Bitext retrieval: search for the translation of a sentence among all sentences of the other language."""
