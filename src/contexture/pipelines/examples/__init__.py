"""The stage `examples`."""
