"""Vectors of candidates, cached per model and texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from contexture.encoders.base import Encoder
from contexture.encoders.saved import encoder_checksum
from contexture.retrieval import candidates as candidates_module
from contexture.retrieval.candidates import Retriever, hash_texts
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.search_index import search_exact
from contexture.retrieval.vectors import open_vectors
from contexture.tasks.retrieval.ranks import READ_COLUMNS, question_ranks
from tests.tasks.retrieval.test_passage_search import PASSAGES, contents, toy_encoder

#: A question has three words of its right sentence.
CANDIDATES = pd.DataFrame(
    {
        "candidate_id": list(PASSAGES),
        "sentence": list(PASSAGES.values()),
        "passage": [f"{text} {text}" for text in PASSAGES.values()],
    }
)
QUESTIONS = pd.DataFrame(
    {
        "question_id": [f"q{title}" for title in PASSAGES],
        "question": [" ".join(text.split()[1:4]) for text in PASSAGES.values()],
        "answers": [[title] for title in PASSAGES],
    }
)
TEXTS = QUESTIONS["question"].tolist()


def write_candidates(folder: Path, candidates: pd.DataFrame = CANDIDATES, group: int = 3) -> ParquetRows:
    """Write candidates with `group` rows per row group."""
    candidates.to_parquet(folder / "candidates.parquet", row_group_size=group)
    return ParquetRows(folder / "candidates.parquet")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_encoder(tmp_path_factory.mktemp("candidates") / "encoder")


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the batches that are embedded, without the single text for the dimension."""
    counts: list[int] = []
    real = Encoder.embed

    def counting(self: Encoder, texts: Sequence[Any], role: Any = None) -> Any:
        if len(texts) > 1:
            counts.append(len(texts))
        return real(self, texts, role)

    monkeypatch.setattr(Encoder, "embed", counting)
    return counts


def test_ranks_are_those_of_all_inner_products(encoder: Path, tmp_path: Path) -> None:
    retriever, candidates = Retriever([str(encoder)]), write_candidates(tmp_path)
    vectors, queries = (
        retriever.embed_candidates(candidates, tmp_path / "made" / "vectors"),
        retriever.embed_queries(TEXTS),
    )
    ranked = search_exact(vectors, queries, 4)[1]
    right = question_ranks(QUESTIONS, candidates.batches(READ_COLUMNS), ranked)
    assert right["question_id"].tolist() == [f"q{title}" for title in PASSAGES]
    assert right["rank"].tolist() == right["sentence_rank"].tolist() == [1] * 4
    swapped = QUESTIONS.assign(answers=QUESTIONS["answers"].tolist()[::-1])
    wrong = question_ranks(swapped, candidates.batches(READ_COLUMNS), ranked)["rank"]
    scores = queries @ vectors[:].T
    expected = [int((row > row[answer]).sum()) + 1 for row, answer in zip(scores, [3, 2, 1, 0], strict=True)]
    # Passages without a word of the question all score 0 and are ordered by row.
    assert all(rank >= best for rank, best in zip(wrong, expected, strict=True))
    assert wrong.between(2, 4).all()


def test_only_concatenated_encoders_are_normalized(encoder: Path, tmp_path: Path) -> None:
    single_model, both = (Retriever([str(encoder)] * count) for count in (1, 2))
    lengths = {
        name: np.linalg.norm(retriever.embed_candidates(write_candidates(tmp_path), tmp_path / name)[:], axis=1)
        for name, retriever in (("single_model", single_model), ("both", both))
    }
    assert not np.allclose(lengths["single_model"], 1) and np.allclose(lengths["both"], 1)
    single, double = single_model.embed_queries(TEXTS), both.embed_queries(TEXTS)
    assert double.shape == (4, 2 * single.shape[1])
    cosine = single / np.linalg.norm(single, axis=1, keepdims=True)
    np.testing.assert_allclose(double, np.hstack([cosine, cosine]) / np.sqrt(2), atol=1e-6)


def test_published_models_are_compared_by_cosine(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Published:
        name, dimension, identity = "published", 2, {"published": 1}

        def embed(self, texts: Sequence[Any], role: Any = None) -> Any:
            return np.array([[3, 4]] * len(texts), np.float32)

    monkeypatch.setattr(candidates_module, "load_models", lambda names: Published())
    np.testing.assert_allclose(Retriever(["some/name"]).embed_queries(TEXTS), [[0.6, 0.8]] * 4)
    np.testing.assert_allclose(Retriever([str(encoder)]).embed_queries(TEXTS), [[3, 4]] * 4)


def test_vectors_are_embedded_once_per_model_and_texts(encoder: Path, tmp_path: Path, embedded: list[int]) -> None:
    retriever = Retriever([str(encoder)])
    first = retriever.embed_candidates(write_candidates(tmp_path), tmp_path / "v")
    again = retriever.embed_candidates(write_candidates(tmp_path, group=1), tmp_path / "v")
    assert embedded == [4]
    assert np.array_equal(first[:], again[:])
    model = {"encoder": encoder_checksum(encoder)}
    assert again.identity == {"model": model, "unit": False, "texts": hash_texts(write_candidates(tmp_path))}
    other = toy_encoder(tmp_path / "other", scale=3.0)
    retriever = Retriever([str(other)])
    made = retriever.embed_candidates(write_candidates(tmp_path), tmp_path / "v")
    assert embedded == [4, 4] and made.identity["model"] == {"encoder": encoder_checksum(other)}
    for changed in (CANDIDATES.iloc[::-1], CANDIDATES.iloc[:3], CANDIDATES.assign(candidate_id=list("abcd"))):
        candidates = write_candidates(tmp_path, changed)
        made = retriever.embed_candidates(candidates, tmp_path / "v")
        assert made.identity["texts"] == hash_texts(candidates) and len(made) == len(changed)
    assert embedded == [4, 4, 4, 3, 4]


def test_checksums_depend_on_ids_and_columns(tmp_path: Path) -> None:
    def checksum(*row: str) -> str:
        return hash_texts(
            write_candidates(tmp_path, pd.DataFrame([row], columns=["candidate_id", "sentence", "passage"]))
        )

    assert len({checksum("a", "bc", "d"), checksum("a", "b", "cd"), checksum("ab", "c", "d")}) == 3
    assert checksum("a", "b", "c") == checksum("a", "b", "c")


def test_no_candidates_raise_and_nothing_is_overwritten(encoder: Path, tmp_path: Path) -> None:
    retriever = Retriever([str(encoder)])
    retriever.embed_candidates(write_candidates(tmp_path), tmp_path / "v")
    none = write_candidates(tmp_path, CANDIDATES.iloc[:0])
    for folder in (tmp_path / "v", tmp_path / "new"):
        content = contents(tmp_path)
        with pytest.raises(ValueError, match="no candidates"):
            retriever.embed_candidates(none, folder)
        assert contents(tmp_path) == content
    assert len(open_vectors(tmp_path / "v")) == 4


def test_a_damaged_encoder_raises(tmp_path: Path) -> None:
    other = toy_encoder(tmp_path / "other", scale=3.0)
    (other / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes()[:99])
    with pytest.raises(ValueError, match="other holds no whole encoder"):
        Retriever([str(other)])
