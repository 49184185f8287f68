"""Common Crawl's WET files."""

import gzip
from pathlib import Path

import pytest

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import find_sources, protocol, wet
from tests.corpus.make import get_texts, read_path


def make_record(
    uri: str, text: str | bytes, kind: str = "conversion", length: int | None = None, **headers: str
) -> bytes:
    content = text if isinstance(text, bytes) else text.encode()
    lines = [
        *("WARC/1.0", f"WARC-Type: {kind}", f"WARC-Target-URI: {uri}"),
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        f"Content-Length: {len(content) if length is None else length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content + b"\r\n\r\n"


INFO = make_record("file", "Software-Info: by hand\r\n", "warcinfo")
PAGES = [
    make_record(
        f"https://harbour.test/{i}",
        f"Harbour {i} at sea\nHome\nThe boats of harbour {i} lie here. They are {i * i}.\n\nWARC/1.0 is a name.\n",
        WARC_Identified_Content_Language="ell,eng" if i % 3 else "eng",
        WARC_Date=f"2026-01-0{i % 9 + 1}T02:03:04Z",
    )
    for i in range(40)
]


@pytest.mark.parametrize("name", ["a.warc.wet", "a.warc.wet.gz"])
@pytest.mark.parametrize("tasks", [1, 7])
def test_pages(tmp_path: Path, name: str, tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_MIN_SPLIT_BYTES", 50)
    path = tmp_path / name
    members = [INFO, *PAGES]
    path.write_bytes(b"".join(map(gzip.compress, members)) if name.endswith(".gz") else b"".join(members))
    rows = sorted(read_path(path, tasks, lang="auto"), key=lambda row: int(row["title"].split()[1]))
    assert [row["lang"] for row in rows] == ["el" if i % 3 else "en" for i in range(40)]
    row = rows[1]
    assert (row["doc_id"], row["title"], row["revision"]) == (
        "el:https://harbour.test/1",
        "Harbour 1 at sea",
        20260102020304,
    )
    assert get_texts(row) == ["Harbour 1 at sea", "The boats of harbour 1 lie here. They are 1.", "WARC/1.0 is a name."]
    assert row["paragraphs"][1]["sentences"] == ["The boats of harbour 1 lie here.", "They are 1."]
    assert row["paragraphs_dropped"] == [("too_short", 1)]


def test_faulty_records_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_DOCUMENT_BYTES", 100_000)
    monkeypatch.setattr(wet, "_MAX_TITLE_CHARS", 10)
    content = [
        INFO,
        make_record("u1", "The first page of all."),
        make_record("u2", b"The \xe4 of the harbour."),
        make_record("u3", "x" * 200_000),
        make_record("u4", "The boats lie here.", length=4),
        make_record("u5", "The tides come here."),
        make_record("", "A page without an address.", WARC_Record_ID="<urn:uuid:1>"),
        b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: many\r\n\r\nNo.\r\n\r\n",
        make_record("u6", "\n\n", WARC_Identified_Content_Language="xx;y"),
        b"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: u7\r\nContent-Length: 999\r\n\r\nThe last page.",
    ]
    path = tmp_path / "a.warc.wet"
    path.write_bytes(b"".join(content))
    result = [(row["doc_id"], row["dropped"]) for row in read_path(path, lang="auto")]
    names = [name if "?" not in name else name[:5] for name, _ in result]
    assert list(zip(names, [dropped for _, dropped in result], strict=True)) == [
        ("und:u1", None),
        ("und:u2", "not_utf8"),
        ("und:u3", "too_large"),
        ("und:u4", "empty"),
        ("und:?", "malformed_record"),
        ("und:u5", None),
        ("und:urn:uuid:1", None),
        ("und:?", "malformed_record"),
        ("und:u6", "empty"),
        ("und:u7", "truncated"),
    ]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_cut_off(tmp_path: Path, share: float) -> None:
    data = gzip.compress(b"".join([INFO, *PAGES]))
    path = tmp_path / "a.warc.wet.gz"
    path.write_bytes(data[: int(len(data) * share)])
    rows = read_path(path, lang="auto")
    assert [row["dropped"] for row in rows] == [None] * (len(rows) - 1) + ["truncated"]


def test_not_wet(tmp_path: Path) -> None:
    path = tmp_path / "a.wet"
    path.write_text("<html>The boats</html>")
    with pytest.raises(SourceError, match=r"is not a WET file.*<html>"):
        find_sources(CorpusConfig(input=str(path)))
