"""Sources of text, read by Spark into one table of paragraphs."""
