"""Nodes of the stage `corpus`."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contexture.corpus.config import CleaningConfig, CorpusConfig
from contexture.corpus.sources import find_sources
from contexture.pipelines.corpus.nodes import clean_paragraphs, find_paragraphs, parse_pages


def clean(file: Path, *texts: str) -> None:
    """Clean a text of these documents."""
    lines = (json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts))
    file.write_text("\n".join(lines), encoding="utf-8")
    corpus = CorpusConfig(input=str(file), lang="en", files=2)
    pages = parse_pages(corpus, {"corpus": list(map(asdict, find_sources(corpus)))}, {})
    cleaning = CleaningConfig(duplicate_documents=None, duplicate_paragraphs=None)
    clean_paragraphs(corpus, cleaning, pages, find_paragraphs(corpus, pages), {})


def test_a_text_without_a_kept_paragraph_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "text.jsonl"
    numbers = "12 34 56 78 90 12 34 56 78 90"
    with pytest.raises(ValueError, match=r"no paragraph is left") as raised:
        clean(file, "Too short.", numbers, f"1 {numbers}")
    assert str(raised.value) == (
        f"corpus.input: no paragraph is left of {file} (3 pages); pages dropped: empty 1; paragraphs dropped while "
        "reading (corpus.min_characters, corpus.list_items): too_short 1; paragraphs dropped by the rules of cleaning: "
        "few_letters 2. Relax these rules in conf/ (docs/cleaning.md), or name another text"
    )


@pytest.mark.slow
def test_the_error_counts_pages_without_paragraphs(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "text.jsonl"
    with pytest.raises(ValueError, match=r"\(1 page\); pages dropped: empty 1; .*: too_short 1\. Relax"):
        clean(file, "Too short.")
