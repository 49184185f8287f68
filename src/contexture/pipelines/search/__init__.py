"""The stage `search`."""
