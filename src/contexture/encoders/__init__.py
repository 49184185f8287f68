"""Encoders of texts: networks, their inputs, and their files."""
