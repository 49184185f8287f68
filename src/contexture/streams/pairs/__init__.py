"""Queries and documents for two towers (`pairs`), and the documents alone (`passages`)."""
