"""The stage `export`."""
