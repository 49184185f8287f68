"""CMLM (Yang et al., 2021): a sentence's vector helps to guess its neighbour's masked words."""
