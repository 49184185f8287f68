"""BEIR: documents, queries and how relevant the ones are to the others, in its files."""
