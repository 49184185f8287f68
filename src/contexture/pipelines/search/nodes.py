"""Nodes of the stage `index`."""

from pathlib import Path

from contexture.metrics.config import Bm25Config


def index_passages(words: Bm25Config, passages: Path, pretrained: Path, place: Path) -> Path:
    """The encoder of the first seed, the passages, their vectors and words."""
    from contexture.tasks.retrieval.passage_index import build_passage_index

    build_passage_index(passages, pretrained / "seed-0", place, words)
    return place
