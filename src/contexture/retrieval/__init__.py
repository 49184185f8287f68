"""Search: BM25, exact and approximate vector search, fusion, and their indexes on disk."""
