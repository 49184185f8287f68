"""The stage `tasks`."""
