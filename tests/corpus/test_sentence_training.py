"""Training of sentence splitting on the corpus."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contexture.corpus import sentence_training
from contexture.corpus.config import CorpusConfig
from contexture.corpus.pages import read_pages
from contexture.corpus.sentence_training import train_splitters
from contexture.corpus.sources import find_sources

BOOK = "\n".join(
    f"It lay at Harb. {i} in the old town. Boats of the harb. {i} came and went, day and night." for i in range(99)
)


def corpus(folder: Path) -> CorpusConfig:
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.txt").write_text(BOOK)
    (folder / "tre.txt").write_text("La casa è al porto. " * 40)
    return CorpusConfig(input=str(folder), lang="en")


def test_an_abbreviation_of_the_corpus_is_learned_and_used(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentence_training, "SAMPLE_CHARS", 10_000)
    config = corpus(tmp_path / "books")
    files = find_sources(config)
    learned = train_splitters(files, config)
    assert list(learned) == ["en"]
    assert "harb" in learned["en"]["abbreviations"]
    sentences = {
        trained: [
            row.text
            for row in read_pages(spark, files, config, parameters)
            .selectExpr("explode(flatten(paragraphs.sentences)) as text")
            .collect()
        ]
        for trained, parameters in ((True, learned), (False, {}))
    }
    assert "It lay at Harb. 3 in the old town." in sentences[True]
    assert learned == train_splitters(files, config)


def test_the_sample_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_training, "SAMPLE_CHARS", 100)
    config = corpus(tmp_path / "books")
    read = train_splitters(find_sources(config), config)
    assert "harb" not in read["en"]["abbreviations"]  # seen too seldom in so few characters
