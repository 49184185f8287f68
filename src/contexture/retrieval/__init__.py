"""BM25, exact and approximate vector search, rank fusion, and their indexes on disk."""
