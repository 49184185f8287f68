"""Runs that are killed."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.training.runs import Killed, kill_at


def kill(train: Callable[[], Any], *steps: int) -> None:
    """Begin a training that dies at each of these steps in turn."""
    for step in steps:
        with pytest.MonkeyPatch.context() as patch:
            kill_at(step, patch)
            with pytest.raises(Killed):
                train()
