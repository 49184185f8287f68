"""CMLM (Yang et al., 2021): a sentence's vector helps to predict masked words of its neighbour."""
