"""Sentences that are encoded together (MSPP)."""
