"""Nodes of the stage `index`."""

import json
from collections.abc import Sequence
from pathlib import Path

from contexture.paths import DETAILS_FILE
from contexture.retrieval.config import SearchDefaults
from contexture.tasks.base import EncoderChooser
from contexture.tasks.registry import TASKS
from contexture.tasks.settings import TaskSettings


def index_passages(
    tasks: Sequence[TaskSettings],
    passages: Path,
    encoder: Path,
    output_dir: Path,
    defaults: SearchDefaults | None = None,
) -> Path:
    """Index passages with an encoder (of several seeds the first), and the BM25 of the first task that has one."""
    from contexture.encoders.saved import seed_dir
    from contexture.retrieval.passage_search import build_passage_index

    bm25_configs = (task.get_bm25_config() for task in tasks)
    bm25 = next(filter(None, bm25_configs), None)
    build_passage_index(passages, seed_dir(encoder, 0), output_dir, bm25, defaults)
    return output_dir


def index_exported(
    chooser: str, candidates: list[str], passages: Path, encoder: Path, output_dir: Path, results_dir: Path
) -> Path:
    """Index passages with the exported encoder, to be searched as the results of the task `chooser` recommend."""
    task = TASKS[chooser].load()
    assert isinstance(task, EncoderChooser)  # `TaskSpec.chooses_encoder`
    details = json.loads((results_dir / DETAILS_FILE).read_text(encoding="utf-8"))
    defaults = task.choose_search(details, task.choose_encoder(details, candidates))
    return index_passages([], passages, encoder, output_dir, defaults)
