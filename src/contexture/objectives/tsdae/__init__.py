"""TSDAE: a sentence is written again from the vector of its damaged form."""
