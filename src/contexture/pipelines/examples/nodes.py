"""Nodes of the stage `examples`."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from contexture.pipelines.sources.nodes import describe_corpus
from contexture.streams.tables import held_out_dir
from contexture.systems.config import SystemConfig
from contexture.tasks.registry import TASKS
from contexture.training.corpus_info import hash_tables, write_corpus_info

LOG = logging.getLogger(__name__)


def count_examples(
    count: Callable[..., dict[str, Any]],
    held_out_share: float,
    examples_dir: Path,
    sources: dict[str, Any],
    cleaning_report: dict[str, Any],
    *tables: Any,
) -> tuple[dict[str, Any], Path]:
    """Return `count(*tables)` and the examples' folder, after writing there what `CorpusInfo` has of the corpus."""
    counts = count(*tables)
    corpus = describe_corpus(sources, cleaning_report["languages"])
    checksum = hash_tables(examples_dir, held_out_dir(examples_dir))
    write_corpus_info(examples_dir, replace(corpus, held_out_share=held_out_share, sha256=checksum))
    LOG.info("examples: %s", counts)
    return counts, examples_dir


def training_config(config: SystemConfig, **data: Path) -> dict[str, Any]:
    """Return the settings that `contexture train` needs besides examples; `data` maps tasks to folders.

    Raises ValueError if a task cannot be fine-tuned on its data.
    """
    for task, folder in data.items():
        TASKS[task].load().check_settings(config.task(task), folder)
    return config.to_dict()
