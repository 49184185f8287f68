"""Tasks of MTEB, the Massive Text Embedding Benchmark, through its package `mteb` (the extra `mteb`)."""
