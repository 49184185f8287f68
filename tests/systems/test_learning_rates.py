"""Learning rates of single runs."""

from typing import Any

import pytest
from pydantic import ValidationError

from contexture.systems.config import SystemConfig
from tests.training.toys import OPTIMIZER, schedule, system


def build_system(**rates: Any) -> SystemConfig:
    runs = {name: schedule(mlm=1) | ({"learning_rate": rate} if rate else {}) for name, rate in rates.items()}
    return system(runs=runs)


def test_learning_rate_of_a_run_or_of_all() -> None:
    config = build_system(slow=1e-5, usual=None)
    slow, usual = (config.pretraining(name).settings for name in ("slow", "usual"))
    assert (slow.optimizer.learning_rate, usual.optimizer.learning_rate) == (1e-5, OPTIMIZER["learning_rate"])
    assert slow.optimizer.warmup_steps == usual.optimizer.warmup_steps == 2
    assert slow.runs == usual.runs and usual == config.pretrain


def test_learning_rate_is_positive() -> None:
    with pytest.raises(ValidationError, match="learning_rate"):
        build_system(slow=-1e-5)
