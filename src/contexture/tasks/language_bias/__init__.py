"""Language bias: how many of a sentence's nearest neighbours are in the same language."""
