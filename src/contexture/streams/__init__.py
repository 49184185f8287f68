"""Streams of batches: settings, sampling with Spark, and collation of each kind of example."""
