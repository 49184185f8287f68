"""Nodes of the stage `index`."""

from pathlib import Path


def index_passages(passages: Path, pretrained: Path, place: Path) -> Path:
    """The encoder of the first seed, the passages and their vectors; the encoder also as a model of the MLflow run."""
    from contexture.pipelines.tracking import log_encoder
    from contexture.tasks.retrieval.passage_search import ENCODER, build_passage_index

    build_passage_index(passages, pretrained / "seed-0", place)
    log_encoder(place / ENCODER)
    return place
