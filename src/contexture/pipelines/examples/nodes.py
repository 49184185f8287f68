"""Nodes of the stage `examples`."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contexture.systems.config import SystemConfig

LOG = logging.getLogger(__name__)


def count(counted: Callable[..., dict[str, Any]], place: Path, *tables: Any) -> tuple[dict[str, Any], Path]:
    """Counts of the examples, and the folder that holds them."""
    counts = counted(*tables)
    LOG.info("examples: %s", counts)
    return counts, place


def training_config(config: SystemConfig) -> dict[str, Any]:
    """The one file that `python -m contexture.train` needs beside the examples."""
    return config.plain()
