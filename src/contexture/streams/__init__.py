"""Streams of batches: for each kind of examples its settings, how Spark samples it, and how batches are made of it."""
