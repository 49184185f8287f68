"""Books: one text file each."""

import gzip
from pathlib import Path

import pytest

from contexture.corpus.sources import protocol
from tests.corpus.make import get_texts, read_path

BOOK = """# CHAPTER I

The boats lay in the harbour. Nobody spoke.

It was late.

# CHAPTER II

"Look," said Fen, and they looked.
"""


def test_a_book(tmp_path: Path) -> None:
    (tmp_path / "The_boats_of 1901.txt.gz").write_bytes(gzip.compress(BOOK.encode()))
    (row,) = read_path(tmp_path, min_characters=15)
    assert (row["doc_id"], row["lang"], row["title"]) == ("en:The_boats_of 1901", "en", "The boats of 1901")
    assert [(p["section_index"], p["section"], p["paragraph_index"]) for p in row["paragraphs"]] == [
        (1, "CHAPTER I", 0),
        (2, "CHAPTER II", 1),
    ]
    assert row["paragraphs"][0]["sentences"] == ["The boats lay in the harbour.", "Nobody spoke."]
    assert row["paragraphs"][0]["kind"] == "prose"
    assert row["paragraphs_dropped"] == [("too_short", 1)]


def test_paragraphs_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The boats lay in the harbour.\nNobody spoke for an hour.\n\nThe end of the book.")
    assert len(get_texts(read_path(tmp_path, min_characters=15)[0])) == 2
    assert len(get_texts(read_path(tmp_path, book_paragraphs="line")[0])) == 3


def test_faults_after_the_first_mebibyte_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"The boats lay in the harbour.\n" * 50_000
    (tmp_path / "bytes.txt").write_bytes(text + b"\xe4")
    whole = gzip.compress(text + bytes(range(256)) * 10)
    (tmp_path / "cut.txt.gz").write_bytes(whole[:-100])
    monkeypatch.setattr(protocol, "MAX_DOCUMENT_BYTES", 1_600_000)
    (tmp_path / "huge.txt").write_bytes(text * 2)
    assert {row["title"]: row["dropped"] for row in read_path(tmp_path, min_characters=15)} == {
        "bytes": "not_utf8",
        "cut": "truncated",
        "huge": "too_large",
    }


def test_a_book_without_paragraphs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n \n")
    assert read_path(tmp_path, min_characters=15)[0]["dropped"] == "empty"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "lang", "count", "paragraphs"),
    [("eng", "en", 99, 200_000), ("fra", "fr", 24, 41_000), ("deu", "de", 16, 12_000)],
)
def test_real_novels(shared_data: Path, name: str, lang: str, count: int, paragraphs: int) -> None:
    folder = shared_data / "books" / f"eltec_{name}" / "txt"
    rows = read_path(folder, lang=lang)
    assert len(rows) == count
    assert all(row["dropped"] is None for row in rows)
    paragraphs_read = [paragraph for row in rows for paragraph in row["paragraphs"]]
    assert paragraphs < len(paragraphs_read)
    assert all(row["paragraphs"][-1]["section_index"] > 1 for row in rows)
    assert all("".join(p["sentences"]).replace(" ", "") == p["text"].replace(" ", "") for p in paragraphs_read)
