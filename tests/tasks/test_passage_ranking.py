"""Ranking of a few passages by words and vectors."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from contexture.encoders.models import load_model
from contexture.retrieval.config import Bm25Config
from contexture.tasks.passage_ranking import COLUMNS, drop_row, rank_by_vectors, rank_by_words
from tests.tasks.retrieval.test_passage_search import PASSAGES, contents, toy_encoder

QUERIES = ["piers of gulls", "islands, Ferries", "the of"]


@pytest.fixture
def candidates(tmp_path: Path) -> Path:
    rows = [(f"d{number}", title, text) for number, (title, text) in enumerate(PASSAGES.items())]
    pd.DataFrame(rows, columns=COLUMNS).to_parquet(tmp_path / "candidates.parquet", row_group_size=3)
    return tmp_path / "candidates.parquet"


def test_by_words(candidates: Path, tmp_path: Path) -> None:
    """Only Gulls has both words; Ferries has its word in title and text, Whales in one of them."""
    _, rows = rank_by_words(candidates, QUERIES, tmp_path / "vectors", Bm25Config(), 3)
    assert rows.tolist() == [[2, -1, -1], [1, 0, -1], [-1, -1, -1]]
    assert rank_by_words(candidates, QUERIES, tmp_path / "vectors", Bm25Config(), 9)[1].shape == (3, 4)
    # The settings are heard: with its function words kept, "of" is in Whales.
    assert rank_by_words(candidates, QUERIES, tmp_path / "vectors", Bm25Config(stop_words=False), 1)[1][2].tolist() == [
        0
    ]


def test_by_vectors(candidates: Path, tmp_path: Path) -> None:
    encoder = toy_encoder(tmp_path / "encoder")
    _, rows = rank_by_vectors([str(encoder)], candidates, QUERIES[:2], tmp_path / "vectors", 9)
    model = load_model(str(encoder))
    scores = model.embed(QUERIES[:2], "query") @ model.embed(list(PASSAGES.items()), "document").T
    assert (np.diff(np.take_along_axis(scores, rows, axis=1)) <= 0).all()
    assert sorted(rows[0]) == [0, 1, 2, 3] and rows[:, 0].tolist() == [2, 1]


def test_queries_without_known_words_have_no_results(candidates: Path, tmp_path: Path) -> None:
    encoder = toy_encoder(tmp_path / "encoder")
    _, rows = rank_by_vectors([str(encoder)], candidates, ["", "gulls"], tmp_path / "vectors", 2)
    assert rows[0].tolist() == [-1, -1] and rows[1, 0] == 2


def test_vectors_are_cached_per_model(candidates: Path, tmp_path: Path) -> None:
    vectors_dir, first, second = tmp_path / "vectors", *(str(toy_encoder(tmp_path / name)) for name in ("1", "2"))
    models = [[first], [second], [first, second]]
    rankings = [rank_by_vectors(encoders, candidates, QUERIES, vectors_dir, 4)[1].tolist() for encoders in models]
    assert len(list(vectors_dir.iterdir())) == 3
    made = contents(vectors_dir)
    times = {file: file.stat().st_mtime_ns for file in vectors_dir.rglob("*")}
    assert [
        rank_by_vectors(encoders, candidates, QUERIES, vectors_dir, 4)[1].tolist() for encoders in models
    ] == rankings
    assert contents(vectors_dir) == made and {file: file.stat().st_mtime_ns for file in vectors_dir.rglob("*")} == times


def test_one_row_of_each_query_is_dropped() -> None:
    rows = np.array([[0, 1, 2, 3], [4, 2, 3, -1], [4, 2, -1, -1]])
    scores, kept = drop_row((-rows.astype(np.float32), rows), np.array([-1, 2, 9]), 3)
    assert kept.tolist() == [[0, 1, 2], [4, 3, -1], [4, 2, -1]]
    assert (scores[kept >= 0] == -kept[kept >= 0]).all()
