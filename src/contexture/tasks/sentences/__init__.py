"""Sentence tasks of frozen encoders: SentEval's probes, similarity, neighbours, analogies, captions."""
