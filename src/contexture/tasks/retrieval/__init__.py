"""Retrieval question answering (ReQA): find the passage that answers."""
