"""Consecutive sequences (CMLM): `sequence_pairs`, and `sequences`, the same texts one by one."""
