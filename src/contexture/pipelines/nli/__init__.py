"""Labelled pairs of premise and hypothesis to a table."""
