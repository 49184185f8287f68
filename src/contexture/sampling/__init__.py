"""Spark DataFrames to training examples, one module per objective."""
