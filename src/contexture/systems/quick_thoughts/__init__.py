"""Quick-Thoughts and Skip-Thought (Logeswaran and Lee, 2018)."""
