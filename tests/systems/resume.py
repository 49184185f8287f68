"""Killed trainings."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.training.runs import Killed, kill_at


def kill(train: Callable[[], Any], *steps: int) -> None:
    """Start a training once for each step, and kill it at that step."""
    for step in steps:
        with pytest.MonkeyPatch.context() as patch:
            kill_at(step, patch)
            with pytest.raises(Killed):
                train()
