"""Read labelled pairs of premise and hypothesis in several languages."""
