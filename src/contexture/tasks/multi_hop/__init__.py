"""Multi-hop question answering on HotpotQA: retrieval by sentence vectors, a re-ranker, and a reader."""
