"""The stage `evaluate`."""
