"""The stage `sources`."""
