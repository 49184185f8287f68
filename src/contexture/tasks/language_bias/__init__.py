"""Language bias: whether a sentence's nearest neighbours are of its own language, whatever they say."""
