"""Nodes of the stage `index`."""

from collections.abc import Sequence
from pathlib import Path

from contexture.retrieval.config import Bm25Config
from contexture.tasks.settings import TaskSettings


def index_passages(tasks: Sequence[TaskSettings], passages: Path, encoder: Path, place: Path) -> Path:
    """The encoder, the passages, their vectors and words; BM25 is that of the first of the tasks that has one.

    `encoder` is the folder of an encoder, or of one for each seed: then the first is taken.
    """
    from contexture.encoders.saved import of_seed
    from contexture.retrieval.passage_search import build_passage_index

    words = (task.get_bm25_config(passages) for task in tasks)
    build_passage_index(passages, of_seed(encoder, 0), place, next(filter(None, words), Bm25Config()))
    return place
