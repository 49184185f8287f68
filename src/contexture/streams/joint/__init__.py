"""Sentences of a paragraph read together (MSPP)."""
