"""A toy stream: the sentences of the corpus, shuffled."""
