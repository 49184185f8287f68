"""Three real dumps: counts of pages, little remaining markup, and sentences that cover the text."""

import collections
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contexture.corpus.sources.files import find_files
from contexture.corpus.sources.mediawiki import check, read_page_rows
from contexture.corpus.sources.protocol import SourceFile, Split, plan_splits
from contexture.corpus.sources.records import RawRecord, read_records
from contexture.text.kinds import page_kind
from contexture.text.mediawiki import Site, WikiPage, parse_page
from contexture.text.sentences import get_splitter

DUMPS = {
    "enwiki-pages-articles-shortened.xml.bz2": {
        "lang": "en",
        "rows": 206,
        "redirects": 99,
        "articles": 106,
        "truncated": 0,
        "paragraphs": 4_700,
        "links": 18_500,
        "kinds": {"article": 96, "disambiguation": 8, "list": 2},
    },
    "itwiki-pages-articles-small.xml.gz": {
        "lang": "it",
        "rows": 747,
        "redirects": 64,
        "articles": 608,
        "truncated": 0,
        "paragraphs": 7_500,
        "links": 27_000,
        "kinds": {"article": 574, "disambiguation": 31, "list": 3},
    },
    "elwiki-truncated-100k.xml.xz": {
        "lang": "el",
        "rows": 934,
        "redirects": 21,
        "articles": 524,
        "truncated": 1,
        "paragraphs": 6_200,
        "links": 22_500,
        "kinds": {"article": 495, "disambiguation": 23, "list": 6},
    },
}
MARKUP = re.compile(r"\{\{|\}\}|\[\[|\]\]|<ref|</|\{\||\|\}|'''|&[a-z]+;|\bthumb\|")
HOLES = re.compile(r"\(\s*[,;]*\s*\)|\(\s*[,;]|,\s*,|;\s*;")


def export(folder: Path, name: str) -> tuple[SourceFile, Site]:
    (file,) = check(find_files(str(folder / "wikipedia" / name)))
    assert file.site is not None
    return file, file.site


def read(split: Split) -> list[RawRecord]:
    return list(read_records(split, b"</page>"))


@pytest.mark.slow
@pytest.mark.parametrize("name", DUMPS)
def test_dump(shared_data: Path, name: str) -> None:
    expected: dict[str, Any] = DUMPS[name]
    file, site = export(shared_data, name)
    assert site.lang == expected["lang"]
    records = read(Split(file, 0, file.bytes))
    assert sorted(record.data for split in plan_splits([file], 2) for record in read(split)) == sorted(
        r.data for r in records
    )
    rows = [row for record in records for row in read_page_rows(record, site, 20)]
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
    split = get_splitter(site.lang).split
    assert sum(MARKUP.search(text) is not None for text in texts) < 0.0005 * len(texts)
    sentences = [sentence for paragraph in paragraphs for sentence in split(paragraph["text"])]
    assert sum(HOLES.search(sentence) is not None for sentence in sentences) < 0.001 * len(sentences)
    assert all("".join(split(text)).replace(" ", "") == text.replace(" ", "") for text in texts)


def read_articles(file: SourceFile, site: Site) -> Iterator[WikiPage]:
    for record in read(Split(file, 0, file.bytes)):
        if record.state == "whole":
            page = parse_page(f"<page>{record.data.rpartition(b'<page>')[2].decode()}</page>", site)
            if page.namespace == 0 and page.redirect is None:
                yield page


@pytest.mark.slow
@pytest.mark.parametrize("name", DUMPS)
def test_page_kinds(shared_data: Path, name: str) -> None:
    file, site = export(shared_data, name)
    kinds = collections.Counter(page_kind(page.title, page.text, site) for page in read_articles(file, site))
    assert kinds == DUMPS[name]["kinds"]
