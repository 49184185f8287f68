"""Consecutive sequences (CMLM): `sequence_pairs`, and `sequences`, the second of each pair."""
