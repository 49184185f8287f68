"""JSON lines: one document for each line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import find_sources, protocol, records
from tests.corpus.make import by_name, get_texts, read_path

TEXT = "The boats lie here."


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records), "utf-8")
    return path


def test_fields(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"text": f"{TEXT} And more.\n\nAnother\none.\n\n\nNo.", "title": " The\nboats ", "id": 7, "url": "u"},
        {"text": TEXT, "url": "https://harbour.test/a", "lang": "el"},
        {"text": TEXT},
        {"text": TEXT},
        {"text": TEXT, "id": True, "lang": 5, "title": None},
    )
    rows = by_name(read_path(path))
    named = rows["en:7"]
    assert (named["title"], get_texts(named)) == ("The boats", [f"{TEXT} And more.", "Another one."])
    assert named["paragraphs"][0]["sentences"] == [TEXT, "And more."]
    assert named["paragraphs_dropped"] == [("too_short", 1)]
    assert rows["el:https://harbour.test/a"]["lang"] == "el"
    # Equal content has the same name, so that one of two is dropped as a duplicate.
    assert len(rows) == 4


def test_the_last_document_of_an_id_has_the_greatest_revision(tmp_path: Path) -> None:
    """Also if it is nearer to the beginning of a later file."""
    texts = ["The oldest text.", "The older text.", "The newest text."]
    write(tmp_path / "part-1.jsonl", {"text": TEXT}, *({"text": text, "id": "x"} for text in texts[:2]))
    write(tmp_path / "part-2.jsonl", {"text": texts[2], "id": "x"})
    rows = [row for row in read_path(tmp_path) if row["doc_id"] == "en:x"]
    assert [get_texts(row) for row in sorted(rows, key=lambda row: row["revision"])] == [[text] for text in texts]


def test_bad_lines_are_dropped(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"text": TEXT, "id": "good"},
        "",
        "   ",
        '{"text": "not closed',
        "[1, 2]",
        {"title": "no text"},
        {"text": 5},
        {"text": ""},
        "[" * 100_000,
        '{"text": ' + "9" * 5000 + "}",
        '{"text": "half \\ud800 a character, \\u0000 and a NUL", "id": "\\udfff1"}',
    )
    path.write_bytes(path.read_bytes() + b'{"text": "\xe4"}\n')
    rows = read_path(path)
    assert [row["dropped"] for row in rows] == [
        *(None, "malformed_json", "malformed_json", "no_text", "no_text", "empty", "malformed_json", "malformed_json"),
        *(None, "not_utf8"),
    ]
    assert rows[-2]["doc_id"] == "en:1"
    assert get_texts(rows[-2]) == ["half a character, and a NUL"]
    json.dumps(rows, ensure_ascii=False).encode()


def test_cut_off_and_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [{"text": f"{TEXT} {i} {i**9}", "id": i} for i in range(100)]
    data = gzip.compress(write(tmp_path / "b.jsonl", *documents).read_bytes())
    (tmp_path / "b.jsonl").unlink()
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(data[: len(data) * 2 // 3])
    states = [row["dropped"] for row in read_path(path)]
    assert states[-1] == "truncated"
    assert set(states[:-1]) == {None}

    monkeypatch.setattr(records, "MAX_DOCUMENT_BYTES", 2000)
    monkeypatch.setattr(records, "_READ_BYTES", 64)
    monkeypatch.setattr(protocol, "_MIN_SPLIT_BYTES", 700)
    path = write(tmp_path / "c.jsonl", {"text": TEXT}, {"text": "x" * 50_000}, {"text": TEXT, "id": 3})
    for tasks in (1, 3, 50):
        assert [row["dropped"] for row in read_path(path, tasks=tasks)] == [None, "too_large", None]


def test_last_line_without_newline_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "The boats.", "id": 1}\r\n\r\n{"text": "The tides.", "id": 2}')
    assert [get_texts(row) for row in read_path(path)] == [["The boats."], ["The tides."]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"text": "a"', "not JSON"),
        ("# Boats", "not JSON"),
        ('{"title": "a"}', 'not an object with a "text"'),
        ('{"title": "a", "text": ""}\n{"text": " \\n"}\n{"title": "b"}', r'the "text" of its first lines is blank'),
        ('["a"]', "not an object"),
        ("\n\n", "not JSON"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_not_json_lines(tmp_path: Path, content: str, words: str) -> None:
    path = write(tmp_path / "a.jsonl", content)
    with pytest.raises(SourceError, match=words) as error:
        find_sources(CorpusConfig(input=str(path), lang="en"))
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_lang_of_a_record(tmp_path: Path) -> None:
    codes = ["el", "EN", "en-US", "eng", "zh-min-nan"]
    path = write(tmp_path / "a.jsonl", *({"text": TEXT, "lang": lang} for lang in codes), {"text": "The tides."})
    assert [row["lang"] for row in read_path(path, lang="auto")] == ["el", "en", "en", "en", "zh-min-nan", "und"]
    assert read_path(path, lang="de-AT")[-1]["lang"] == "de"
