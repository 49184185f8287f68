"""Metrics of rankings, confidence intervals and logistic probes."""
