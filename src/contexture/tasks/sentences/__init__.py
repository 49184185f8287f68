"""Frozen encoders of sentences: SentEval's probes, similarity, neighbours, analogies, captions."""
