"""Nodes of the stage `index`."""

from pathlib import Path

from contexture.paths import encoder_dir
from contexture.retrieval.config import Bm25Config
from contexture.tasks.held_out.config import HeldOutSettings


def index_passages(words: Bm25Config, passages: Path, pretrained: Path, place: Path) -> Path:
    """The encoder of the first seed, the passages, their vectors and words."""
    from contexture.retrieval.passage_index import build_passage_index

    build_passage_index(passages, encoder_dir(pretrained.parent, pretrained.name, 0), place, words)
    return place


def index_adopted(settings: HeldOutSettings, passages: Path, adopted: Path, place: Path) -> Path:
    """The same with the encoder that was adopted, and words as its rival had them."""
    from contexture.retrieval.passage_index import build_passage_index
    from contexture.tasks.held_out.evidence import words_of

    build_passage_index(passages, adopted, place, words_of(settings, passages))
    return place
