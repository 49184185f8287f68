"""The stage `adopt`."""
