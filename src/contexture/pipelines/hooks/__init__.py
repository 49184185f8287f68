"""Kedro's hooks: what happens before, during and after a run."""
