"""Convert text to paragraphs, sentences and links, without Spark and torch."""
