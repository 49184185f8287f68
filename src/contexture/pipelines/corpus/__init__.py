"""Exports to paragraphs."""
