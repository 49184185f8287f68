"""The three real dumps: what is in them is found, and little markup is left."""

import re
from pathlib import Path
from typing import Any

import pytest

from contexture.corpus.exports import find_exports
from contexture.corpus.pages import page_rows
from contexture.corpus.streams import Split, plan, read

DUMPS = {
    "enwiki-pages-articles-shortened.xml.bz2": {
        "lang": "en",
        "rows": 206,
        "redirects": 99,
        "articles": 106,
        "truncated": 0,
        "paragraphs": 4_700,
        "links": 18_500,
    },
    "itwiki-pages-articles-small.xml.gz": {
        "lang": "it",
        "rows": 747,
        "redirects": 64,
        "articles": 608,
        "truncated": 0,
        "paragraphs": 7_500,
        "links": 27_000,
    },
    "elwiki-truncated-100k.xml.xz": {
        "lang": "el",
        "rows": 934,
        "redirects": 21,
        "articles": 524,
        "truncated": 1,
        "paragraphs": 6_200,
        "links": 22_500,
    },
}
MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|<ref|</|\{\||\|\}|'''|&[a-z]+;|\bthumb\|")
GAPS = re.compile(r"\(\s*[,;]*\s*\)|\(\s*[,;]|,\s*,|;\s*;")


@pytest.mark.slow
@pytest.mark.parametrize("name", DUMPS)
def test_dump(shared_data: Path, name: str) -> None:
    expected = DUMPS[name]
    (export,) = find_exports(str(shared_data / "wikipedia" / name))
    assert export.site.lang == expected["lang"]
    records = list(read(Split(export, 0, export.bytes)))
    assert sorted(record for split in plan([export], 2) for record in read(split)) == sorted(records)
    rows = [row for record in records for row in page_rows(record, export.site, 20)]
    assert len(rows) == expected["rows"]
    assert sum(row["redirect"] is not None for row in rows) == expected["redirects"]
    articles = [row for row in rows if row["redirect"] is None and row["dropped"] in (None, "empty")]
    assert len(articles) == expected["articles"]
    assert sum(row["dropped"] == "truncated" for row in rows) == expected["truncated"]
    assert len({row["doc_id"] for row in rows}) == len(rows)

    paragraphs: list[dict[str, Any]] = [paragraph for row in rows for paragraph in row["paragraphs"]]
    links = [link for paragraph in paragraphs for link in paragraph["links"]]
    assert expected["paragraphs"] < len(paragraphs) < expected["paragraphs"] * 1.1
    assert expected["links"] < len(links) < expected["links"] * 1.1
    texts = [paragraph["text"] for paragraph in paragraphs]
    assert sum(MARKUP.search(text) is not None for text in texts) < 0.0005 * len(texts)
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph["sentences"]]
    assert sum(GAPS.search(sentence) is not None for sentence in sentences) < 0.001 * len(sentences)
    assert all("".join(p["sentences"]).replace(" ", "") == p["text"].replace(" ", "") for p in paragraphs)
