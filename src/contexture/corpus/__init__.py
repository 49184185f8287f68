"""Read text sources with Spark into one table of paragraphs, and clean it."""
