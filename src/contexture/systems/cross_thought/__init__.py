"""Cross-Thought (Wang et al., 2020): sequences help each other to predict masked words."""
