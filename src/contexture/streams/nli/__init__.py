"""Premises and hypotheses in different languages."""
