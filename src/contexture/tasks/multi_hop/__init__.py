"""Multi-hop question answering: retrieval by sentence vectors, a re-ranker, and a reader (HotpotQA)."""
