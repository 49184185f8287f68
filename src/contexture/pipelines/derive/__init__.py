"""The stage `derive`."""
