"""Harder training examples, derived from sampled pairs with models."""
