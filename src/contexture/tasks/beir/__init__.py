"""Retrieval on data sets in BEIR's layout."""
