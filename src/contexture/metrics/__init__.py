"""Ranking, probes, search: what measures vectors and scores, whatever made them."""
