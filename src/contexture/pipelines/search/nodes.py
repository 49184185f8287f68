"""Nodes of the stage `index`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contexture.retrieval.config import SearchDefaults
from contexture.tasks.settings import TaskSettings


def index_passages(
    tasks: Sequence[TaskSettings],
    seed: int,
    passages: Path,
    encoder: Path,
    output_dir: Path,
    defaults: dict[str, Any] | None = None,
) -> Path:
    """Index passages with the encoder of a seed, and the BM25 of the first task that has one.

    `defaults` are `SearchDefaults`.
    """
    from contexture.encoders.saved import seed_dir
    from contexture.retrieval.passage_search import build_passage_index

    bm25_configs = (task.get_bm25_config() for task in tasks)
    bm25 = next(filter(None, bm25_configs), None)
    build_passage_index(passages, seed_dir(encoder, seed), output_dir, bm25, SearchDefaults(**defaults or {}))
    return output_dir
