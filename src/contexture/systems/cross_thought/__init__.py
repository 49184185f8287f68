"""Cross-Thought: sequences that help each other guess their masked words (Wang et al., 2020)."""
