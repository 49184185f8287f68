"""One folder a paper: all that is its own."""
