"""Sentences in corpus order (`contiguous`) and in random order (`sentences`)."""
