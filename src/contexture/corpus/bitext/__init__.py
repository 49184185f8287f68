"""Parallel sentences: files of pairs to one table of them, cleaned (Spark)."""
