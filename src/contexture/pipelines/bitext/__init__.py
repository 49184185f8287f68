"""Files of parallel sentences to a table of pairs."""
