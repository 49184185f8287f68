"""Sentences are embedded once, into a folder that later runs reuse."""

from pathlib import Path

import numpy as np
import pytest

from contexture.retrieval.vectors import open_vectors
from contexture.tasks.sentences.tables import distinct
from contexture.tasks.sentences.vectors import SentenceVectors, embed_sentences, sentences_checksum
from tests.tasks.sentences.sentence_toys import CountingModel

TABLES = (["a", "bbb", "a"], ["cc", "bbb"], [], ["", "a", "dddd"])
SENTENCES = ["a", "bbb", "cc", "", "dddd"]


def test_distinct_keeps_the_first_occurrence() -> None:
    assert distinct(TABLES) == SENTENCES


def test_each_sentence_is_embedded_once(tmp_path: Path) -> None:
    model = CountingModel("toy", [1.0, -0.5])
    vectors = embed_sentences(model, SENTENCES, tmp_path / "deep" / "v", 2)
    assert model.embedded_texts == SENTENCES
    selected = vectors(["dddd", "a", "a", "", "cc"])
    np.testing.assert_array_equal(selected, np.array([[4, -2], [1, -0.5], [1, -0.5], [0, 0], [2, -1]], np.float32))
    both = SentenceVectors(SENTENCES, [*vectors.parts, *vectors.parts])
    np.testing.assert_array_equal(both(["dddd", "a"]), [[4, -2, 4, -2], [1, -0.5, 1, -0.5]])
    assert vectors([]).shape == (0, 2)
    assert vectors.count_zeros() == 1
    with pytest.raises(KeyError, match="never seen"):
        vectors(["never seen"])


def test_a_second_time_embeds_nothing(tmp_path: Path) -> None:
    first = embed_sentences(CountingModel("toy", [1.0]), SENTENCES, tmp_path / "v")
    again = CountingModel("toy", [1.0])
    np.testing.assert_array_equal(embed_sentences(again, SENTENCES, tmp_path / "v")(SENTENCES), first(SENTENCES))
    assert again.embedded_texts == []


def test_other_sentences_or_another_model_are_embedded_anew(tmp_path: Path) -> None:
    embed_sentences(CountingModel("toy", [1.0]), SENTENCES, tmp_path / "v")
    for name in ("toy", "other"):
        model = CountingModel(name, [1.0])
        embed_sentences(model, SENTENCES[::-1], tmp_path / "v")
        assert model.embedded_texts == SENTENCES[::-1]


def test_a_kill_costs_one_shard(tmp_path: Path) -> None:
    broken = CountingModel("toy", [1.0], breaks_at="dddd")
    with pytest.raises(KeyboardInterrupt):
        embed_sentences(broken, SENTENCES, tmp_path / "v", 2)
    assert broken.embedded_texts == SENTENCES[:4]
    resumed = CountingModel("toy", [1.0])
    embed_sentences(resumed, SENTENCES, tmp_path / "v", 2)
    assert resumed.embedded_texts == SENTENCES[4:]


def test_sentences_must_be_distinct_and_as_many_as_vectors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 vectors for 3 sentences, 2 of them distinct"):
        embed_sentences(CountingModel("toy", [1.0]), ["a", "b", "a"], tmp_path / "v")
    with pytest.raises(ValueError, match="3 vectors for 2 sentences"):
        SentenceVectors(["a", "b"], [open_vectors(tmp_path / "v")])
    with pytest.raises(ValueError, match="no candidates to embed"):
        embed_sentences(CountingModel("toy", [1.0]), [], tmp_path / "w")


def test_checksum_depends_on_sentence_boundaries() -> None:
    assert sentences_checksum(["ab", "c"]) != sentences_checksum(["a", "bc"]) != sentences_checksum(["abc"])
    assert sentences_checksum(SENTENCES) == sentences_checksum(iter(SENTENCES))
