"""One's own text: what to search it with, by what its held-out documents give away. No paper's."""
