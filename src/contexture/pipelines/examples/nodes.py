"""Nodes of the stage `examples`."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contexture.pipelines.sources.nodes import name_of_text
from contexture.systems.config import SystemConfig
from contexture.tasks.registry import TASKS
from contexture.training.text import write_text_of

LOG = logging.getLogger(__name__)


def count(
    counted: Callable[..., dict[str, Any]], place: Path, sources: dict[str, Any], *tables: Any
) -> tuple[dict[str, Any], Path]:
    """Counts of the examples, and the folder that holds them, in which it is noted what text they are of."""
    counts = counted(*tables)
    write_text_of(place, name_of_text(sources))
    LOG.info("examples: %s", counts)
    return counts, place


def training_config(config: SystemConfig, **data: Path) -> dict[str, Any]:
    """The one file that `contexture train` needs beside the examples; `data` are the folders of the tasks.

    Raises ValueError where a task cannot be fine-tuned on its data, before hours are spent on training.
    """
    for task, folder in data.items():
        TASKS[task].load().check(config.task(task), folder)
    return config.to_dict()
