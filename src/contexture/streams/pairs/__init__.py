"""Pairs of queries and documents (`pairs`), and their documents (`passages`)."""
