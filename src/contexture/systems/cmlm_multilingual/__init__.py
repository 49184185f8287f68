"""Multilingual CMLM (Yang et al., 2021, sections 4 and 5), with bitext retrieval and inference."""
