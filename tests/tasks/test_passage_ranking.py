"""Passages ranked by words and by vectors, as far as can be told by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contexture.encoders.models import load_model
from contexture.retrieval.config import Bm25Config
from contexture.tasks.passage_ranking import COLUMNS, rank_by_vectors, rank_by_words
from tests.tasks.retrieval.test_passage_search import PASSAGES, contents, toy_encoder

QUERIES = ["piers of gulls", "islands, Ferries", "the of"]


@pytest.fixture
def candidates(tmp_path: Path) -> Path:
    rows = [(f"d{number}", title, text) for number, (title, text) in enumerate(PASSAGES.items())]
    pd.DataFrame(rows, columns=COLUMNS).to_parquet(tmp_path / "candidates.parquet", row_group_size=3)
    return tmp_path / "candidates.parquet"


def test_by_words(candidates: Path, tmp_path: Path) -> None:
    """Gulls alone has the words; Ferries has its own in the title and in the text, Whales one of them."""
    found = rank_by_words(candidates, QUERIES, tmp_path / "place", Bm25Config(), 3)
    assert found.tolist() == [[2, -1, -1], [1, 0, -1], [-1, -1, -1]]
    assert rank_by_words(candidates, QUERIES, tmp_path / "place", Bm25Config(), 9).shape == (3, 4)
    # The settings are heard: with its function words kept, "of" is in Whales.
    assert rank_by_words(candidates, QUERIES, tmp_path / "place", Bm25Config(stop_words=None), 1)[2].tolist() == [0]


def test_by_vectors(candidates: Path, tmp_path: Path) -> None:
    encoder = toy_encoder(tmp_path / "encoder")
    found = rank_by_vectors([str(encoder)], candidates, QUERIES[:2], tmp_path / "place", 9)
    model = load_model(str(encoder))
    scores = model.embed(QUERIES[:2], "query") @ model.embed(list(PASSAGES.items()), "document").T
    assert (np.diff(np.take_along_axis(scores, found, axis=1)) <= 0).all()
    assert sorted(found[0]) == [0, 1, 2, 3] and found[:, 0].tolist() == [2, 1]


def test_a_query_without_a_known_word_finds_nothing(candidates: Path, tmp_path: Path) -> None:
    encoder = toy_encoder(tmp_path / "encoder")
    found = rank_by_vectors([str(encoder)], candidates, ["", "gulls"], tmp_path / "place", 2)
    assert found[0].tolist() == [-1, -1] and found[1, 0] == 2


def test_each_models_vectors_are_kept(candidates: Path, tmp_path: Path) -> None:
    place, one, other = tmp_path / "place", *(str(toy_encoder(tmp_path / name)) for name in ("one", "other"))
    given = [[one], [other], [one, other]]
    first = [rank_by_vectors(encoders, candidates, QUERIES, place, 4).tolist() for encoders in given]
    assert len(list(place.iterdir())) == 3
    made = contents(place)
    times = {file: file.stat().st_mtime_ns for file in place.rglob("*")}
    assert [rank_by_vectors(encoders, candidates, QUERIES, place, 4).tolist() for encoders in given] == first
    assert contents(place) == made and {file: file.stat().st_mtime_ns for file in place.rglob("*")} == times
