"""Queries and documents for two towers: `pairs`, and `passages`, the documents alone."""
