"""Nodes of the stage `index`."""

from pathlib import Path

from contexture.metrics.config import Bm25Config


def index_passages(words: Bm25Config, passages: Path, pretrained: Path, place: Path) -> Path:
    """The encoder of the first seed, the passages, their vectors and words; the encoder also as a model in MLflow."""
    from contexture.pipelines.tracking import log_encoder
    from contexture.tasks.retrieval.passage_index import build_passage_index
    from contexture.tasks.retrieval.passage_search import ENCODER

    build_passage_index(passages, pretrained / "seed-0", place, words)
    log_encoder(place / ENCODER)
    return place
