"""Samples of short sequences (Cross-Thought): `sequence_samples`, and `short_sequences`, each for itself."""
