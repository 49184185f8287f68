"""Documents of 200 MB are dropped in bounded memory, for all sources."""

import tracemalloc
from pathlib import Path

import pytest

from contexture.corpus.config import CorpusConfig, SourceName
from tests.corpus.make import HEAD, TAIL, make_article, make_page, read_all

SIZE = 200 << 20
CHUNK = b"The boats lie in the harbour. " * 35_000

_WARC = b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: u\r\nContent-Length: %d\r\n\r\n"
#: File name, and the data before and after the large text.
AROUND: dict[SourceName, tuple[str, bytes, bytes]] = {
    "mediawiki": (
        "a.xml",
        (HEAD + make_article(1) + make_page(2, "Huge", "MIDDLE").partition("MIDDLE")[0]).encode(),
        (make_page(2, "Huge", "MIDDLE").partition("MIDDLE")[2] + make_article(3) + TAIL).encode(),
    ),
    "json_lines": (
        "a.jsonl",
        b'{"text": "The first boat of all."}\n{"id": 2, "text": "',
        b'"}\n{"text": "The last boat of all."}\n',
    ),
    "wet": (
        "a.warc.wet",
        _WARC % 28 + b"The first boat of the world.\r\n\r\n" + _WARC,
        b"\r\n\r\n" + _WARC % 27 + b"The last boat of the world.\r\n\r\n",
    ),
    "books": ("a.txt", b"", b""),
    "documentation": ("a.html", b"<h1>Boats</h1><p>", b"</p>"),
}


@pytest.mark.slow
@pytest.mark.parametrize("source", AROUND)
def test_a_large_document(tmp_path: Path, source: SourceName) -> None:
    name, head, after = AROUND[source]
    count = SIZE // len(CHUNK) + 1
    with (tmp_path / name).open("wb") as file:
        file.write(head % (count * len(CHUNK)) if source == "wet" else head)
        for _ in range(count):
            file.write(CHUNK)
        file.write(after)
    tracemalloc.start()
    try:
        rows = read_all(CorpusConfig(input=str(tmp_path / name), lang="en"), 2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    kept = 0 if source in ("books", "documentation") else 2
    assert sorted(str(row["dropped"]) for row in rows) == ["None"] * kept + ["too_large"]
    assert peak < 150 << 20
