"""Read files of parallel sentences with Spark into one table, and clean it."""
