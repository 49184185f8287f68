"""Kedro hooks: code that runs before, during and after a pipeline."""
