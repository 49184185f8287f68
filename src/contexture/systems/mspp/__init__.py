"""MSPP joint Transformers (Di Liello et al., 2022)."""
