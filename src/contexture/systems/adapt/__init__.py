"""Adaptation to a user's text, measured on questions from its held-out documents."""
