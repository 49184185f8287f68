"""All sources in one Spark job: one table, the same for any splits, and readable errors."""

import gzip
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from contexture.corpus import pages as corpus
from contexture.corpus.config import CorpusConfig, CorpusInput
from contexture.corpus.errors import SourceError, explain_error
from contexture.corpus.sources import find_sources, protocol
from tests.corpus.make import make_article, make_export, partition_rows, read_path


@pytest.fixture
def config(tmp_path: Path) -> CorpusConfig:
    for folder in ("wiki", "books", "lines", "docs", "web"):
        (tmp_path / folder).mkdir()
    wiki = make_export(*(make_article(i) for i in range(1, 30)))
    (tmp_path / "wiki" / "a.xml").write_bytes(b"\xef\xbb\xbf" + wiki)
    (tmp_path / "wiki" / "b.xml").write_bytes(wiki.decode().replace('lang="en"', 'lang="el"').encode("utf-16"))
    (tmp_path / "books" / "boats.txt").write_text("CHAPTER I\n\nThe boats lie in the harbour.\n\nThey are old boats.\n")
    lines = [{"text": f"The boats of {i} are here.", "id": i % 40, "lang": "de"} for i in range(60)]
    (tmp_path / "lines" / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    (tmp_path / "docs" / "a.md").write_text("# A\n\nSee [the other page](b.html) of it.\n\n- An item of the list\n")
    (tmp_path / "docs" / "b.html").write_text("<h1>B</h1><p>The page with a link to <a href='a.md'>A</a>.</p>")
    record = (
        "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: https://harbour.test/\r\nContent-Length: 29\r\n\r\n"
        "The boats lie in the harbour.\r\n\r\n"
    )
    (tmp_path / "web" / "a.warc.wet.gz").write_bytes(gzip.compress(record.encode()))
    inputs: list[str | CorpusInput] = [
        *(str(tmp_path / folder) for folder in ("wiki", "books", "lines", "web")),
        CorpusInput(str(tmp_path / "docs"), lang="fr"),
    ]
    return CorpusConfig(input=inputs, lang="en", min_characters=10, files=3, list_items="flag")


@pytest.mark.slow
def test_one_table(spark: SparkSession, config: CorpusConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = corpus.read_pages(spark, find_sources(config), config).cache()
    report = corpus.count_pages(pages, config)
    assert {name: report[name] for name in ("pages_in", "pages_out", "dropped", "paragraphs_dropped")} == {
        "pages_in": 29 * 2 + 1 + 61 + 2 + 1,
        "pages_out": 29 * 2 + 1 + 40 + 2 + 1,
        "dropped": {"duplicate": 20, "malformed_json": 1},
        "paragraphs_dropped": {},
    }
    kept = {row.doc_id: row for row in pages.where("dropped is null").collect()}
    assert {row.page_kind for row in kept.values()} == {"article"}
    # The last document of an id is kept.
    assert kept["de:7"].paragraphs[0].text == "The boats of 47 are here."
    paragraphs = corpus.extract_paragraphs(pages, config)
    docs = {row.text: row for row in paragraphs.where("lang = 'fr'").collect()}
    assert [link.target for link in docs["See the other page of it."].links] == ["B"]
    assert docs["An item of the list"].kind == "list_item"
    assert {row.section for row in paragraphs.where("doc_id = 'en:boats'").collect()} == {"CHAPTER I"}
    english, greek = (
        sorted(row.text for row in paragraphs.where(f"lang = '{lang}' and title like 'Harbour%'").collect())
        for lang in ("en", "el")
    )
    assert len(english) == 29 * 2
    assert english == greek

    monkeypatch.setattr(protocol, "_MIN_SPLIT_BYTES", 2000)
    again = partition_rows(corpus.read_pages(spark, find_sources(config), config))
    assert len(again) == config.files
    assert again == partition_rows(pages)


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz", "a.warc.wet.gz", "a.xml.gz"])
def test_damaged_files_raise(tmp_path: Path, name: str) -> None:
    path = write_damaged(tmp_path / name)
    with pytest.raises(SourceError, match="its compressed data is damaged") as error:
        read_path(path)
    assert str(error.value).startswith(f"{path}: ")


def write_damaged(path: Path) -> Path:
    content = {
        "a.txt.gz": b"The boats lie in the harbour of %d.\n",
        "a.jsonl.gz": b'{"text": "The boats lie in the harbour of %d."}\n',
        "a.warc.wet.gz": b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 8\r\n\r\nBoats %d\n",
        "a.xml.gz": make_export(make_article(1)).rpartition(b"</mediawiki>")[0]
        + make_article(1).encode().replace(b"%", b"%%"),
    }[path.name]
    numbered = b"".join(content.replace(b"%d", b"%d" % i) for i in range(30_000 if len(content) < 200 else 4000))
    data = bytearray(gzip.compress(numbered, 1))
    data[-5000:-4900] = bytes(100)
    path.write_bytes(data)
    return path


def test_errors_of_spark_jobs_are_explained(spark: SparkSession, tmp_path: Path) -> None:
    path = write_damaged(tmp_path / "a.jsonl.gz")
    config = CorpusConfig(input=str(path), lang="en")
    files = find_sources(config)
    with pytest.raises(Exception, match="SourceError") as error:
        corpus.read_pages(spark, files, config).write.parquet(str(tmp_path / "pages"))
    message = explain_error(error.value)
    assert message is not None
    assert message.startswith(f"{path}: its compressed data is damaged")


def test_a_missing_file_is_explained(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The boats lie in the harbour.")
    config = CorpusConfig(input=str(path), lang="en")
    files = find_sources(config)
    path.unlink()
    with pytest.raises(Exception, match="SourceError") as error:
        corpus.read_pages(spark, files, config).collect()
    assert f"{path}: cannot be read" in str(explain_error(error.value))
