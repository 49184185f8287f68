"""Parallel sentences."""
