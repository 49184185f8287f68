"""Runs of a system may learn at a rate of their own."""

from typing import Any

import pytest
from pydantic import ValidationError

from contexture.systems.config import SystemConfig
from tests.training.toys import OPTIMIZER, schedule, system


def rates(**own: Any) -> SystemConfig:
    runs = {name: schedule(mlm=1) | ({"learning_rate": rate} if rate else {}) for name, rate in own.items()}
    return system(runs=runs)


def test_a_run_has_its_own_rate_or_that_of_all() -> None:
    config = rates(slow=1e-5, usual=None)
    slow, usual = (config.pretraining(name).settings for name in ("slow", "usual"))
    assert (slow.optimizer.learning_rate, usual.optimizer.learning_rate) == (1e-5, OPTIMIZER["learning_rate"])
    assert slow.optimizer.warmup_steps == usual.optimizer.warmup_steps == 2
    assert slow.runs == usual.runs and usual == config.pretrain


def test_a_rate_is_more_than_nothing() -> None:
    with pytest.raises(ValidationError, match="learning_rate"):
        rates(slow=-1e-5)
