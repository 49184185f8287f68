"""Bitext retrieval: a sentence's translation among all of the other side."""
