"""Sentiment of reviews, learned in English and tested in other languages (CMLM, section 4.5.2)."""
