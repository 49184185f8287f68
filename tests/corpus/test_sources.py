"""What all sources share: how files are found and told apart, and how each answers to bad input."""

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from contexture.corpus.config import CorpusConfig, Input, SourceName
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import SOURCES, find_sources, protocol
from contexture.corpus.sources.protocol import SourceFile, bundle, plan

from .make import article, by_name, export, read_all, texts

WET = (
    "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: https://harbour.test/\r\n"
    "Content-Length: 31\r\n\r\nThe boats lie in the harbour.\r\n\r\n\r\n"
)
LINE = json.dumps({"id": "1", "text": "The boats lie in the harbour."}) + "\n"
#: A small file of each source, and its name.
SMALL: dict[SourceName, tuple[str, str]] = {
    "mediawiki": ("a.xml", export(article(1)).decode()),
    "books": ("a.txt", "The boats lie in the harbour.\n"),
    "json_lines": ("a.jsonl", LINE),
    "documentation": ("a.md", "# Boats\n\nThe boats lie in the harbour.\n"),
    "wet": ("a.warc.wet", WET),
}
EACH = pytest.mark.parametrize("source", SMALL)


def config(path: Path | str, **given: Any) -> CorpusConfig:
    return CorpusConfig(input=str(path), lang="en", min_characters=10, **given)


def put(folder: Path, source: SourceName) -> Path:
    name, content = SMALL[source]
    path = folder / name
    path.write_bytes(content.encode())
    return path


def test_every_source_is_here() -> None:
    assert set(SMALL) == set(SOURCES)


@EACH
def test_a_file_and_its_folder(tmp_path: Path, source: SourceName) -> None:
    path = put(tmp_path, source)
    (file,) = find_sources(config(path))
    name = "a" if source == "books" else path.name
    assert (file.source, file.path, file.name, file.bytes) == (source, str(path), name, path.stat().st_size)
    assert find_sources(config(tmp_path)) == [file]
    assert find_sources(config(f"{tmp_path}/*")) == [file]
    assert find_sources(config(path, source=source)) == [file]
    assert TypeAdapter(list[SourceFile]).validate_python(json.loads(json.dumps([asdict(file)]))) == [file]
    (row,) = read_all(config(path))
    assert row["dropped"] is None
    assert row["page_kind"] == "article"
    assert texts(row)[0].startswith(("The boats lie in the harbour.", "Harbour 1"))


@EACH
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom"])
def test_byte_order_marks(tmp_path: Path, source: SourceName, encoding: str) -> None:
    path = put(tmp_path, source)
    plain = read_all(config(path))
    text = path.read_bytes().decode()
    path.write_bytes(("\ufeff" + text).encode(encoding[:9]) if "bom" in encoding else text.encode(encoding))
    assert read_all(config(path)) == plain


@EACH
def test_nul_bytes_are_dropped(tmp_path: Path, source: SourceName) -> None:
    path = put(tmp_path, source)
    plain = read_all(config(path))
    harbour = b"arbour 1 has" if source == "mediawiki" else b"in the har"
    content = path.read_bytes()
    hurt = harbour[:4] + b"\0" + harbour[4:]
    path.write_bytes(content.replace(harbour, hurt).replace(b"Length: 31", b"Length: 32"))
    assert path.read_bytes() != content
    found = read_all(config(path))
    assert [texts(row) for row in found] == [texts(row) for row in plain]


@EACH
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (gzip.compress(b"x", mtime=0), "holds gz data. Rename it to"),
        (b"\xff\xfe\0\0x\0\0\0", "is UTF-32"),
    ],
)
def test_no_content_for_any(tmp_path: Path, source: SourceName, content: bytes, words: str) -> None:
    path = put(tmp_path, source)
    path.write_bytes(content)
    with pytest.raises(SourceError, match=words) as error:
        find_sources(config(path))
    assert str(error.value).startswith(f"{path}: ")


@EACH
@pytest.mark.parametrize(
    "content", [b"%PDF-1.7\n\x93\x8c\x8b\x9e" * 20, b"PK\3\4\x93\x8c\x8b\x9e", b"\x89PNG\r\n\x1a\n\0"]
)
def test_not_what_its_name_says(tmp_path: Path, source: SourceName, content: bytes) -> None:
    path = put(tmp_path, source)
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"is no|is not|is a ZIP|is a PDF|byte 0x") as error:
        find_sources(config(path))
    assert str(error.value).startswith(f"{path}: ")


@EACH
def test_unreadable(tmp_path: Path, source: SourceName, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, source)

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SourceError, match=r"cannot be read: .*Permission denied"):
        find_sources(config(path))


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(SourceError, match=r"cannot be read: .*Permission denied"):
        find_sources(config(tmp_path))


@EACH
def test_nothing_there(tmp_path: Path, source: SourceName) -> None:
    for place in (tmp_path, tmp_path / "missing", tmp_path / "*.none"):
        for given in ({}, {"source": source}):
            with pytest.raises(SourceError, match=r"no such file|no files") as error:
                find_sources(config(place, **given))
            assert str(error.value).startswith(f"{place}: ")


@EACH
def test_a_folder_of_others(tmp_path: Path, source: SourceName) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(SourceError, match=f"no files of {source} there"):
        find_sources(config(tmp_path, source=source))
    with pytest.raises(SourceError, match="unknown kind of file"):
        find_sources(config(tmp_path))


def test_notes_beside_dumps_are_notes(tmp_path: Path) -> None:
    put(tmp_path, "mediawiki")
    for name in ("md5sums.txt", "README.md"):
        (tmp_path / name).write_text("not an export")
    assert [file.name for file in find_sources(config(tmp_path))] == ["a.xml"]
    put(tmp_path, "json_lines")
    with pytest.raises(SourceError, match=r"several kinds \(mediawiki, json_lines\).*corpus.source"):
        find_sources(config(tmp_path))
    assert [file.name for file in find_sources(config(tmp_path, source="json_lines"))] == ["a.jsonl"]


def test_text_beside_pages_leaves_doubt(tmp_path: Path) -> None:
    put(tmp_path, "books")
    (tmp_path / "sub").mkdir()
    put(tmp_path / "sub", "documentation")
    with pytest.raises(SourceError, match=r"several kinds \(documentation, books\)"):
        find_sources(config(tmp_path))


def test_many_inputs_and_languages(tmp_path: Path) -> None:
    folders = {lang: tmp_path / lang for lang in ("en", "de", "docs")}
    for folder in folders.values():
        folder.mkdir()
    put(folders["en"], "books")
    put(folders["de"], "books")
    put(folders["docs"], "documentation")
    wiki = put(tmp_path, "mediawiki")
    inputs: list[str | Input] = [
        str(folders["en"]),
        Input(str(folders["de"]), lang="de"),
        Input(str(folders["docs"]), source="documentation", lang="el"),
        str(wiki),
        str(wiki),
    ]
    rows = read_all(CorpusConfig(input=inputs, lang="en", min_characters=10))
    assert sorted(by_name(rows)) == ["de:a", "el:a.md", "en:1", "en:a"]
    with pytest.raises(SourceError, match="has the name of"):
        find_sources(CorpusConfig(input=[str(folders["en"]), str(folders["de"])], lang="en"))
    whole = find_sources(CorpusConfig(input=f"{tmp_path}/**/*.txt", lang="en"))
    assert [file.name for file in whole] == ["de/a", "en/a"]


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    put(tmp_path / ".git", "documentation")
    path = put(tmp_path, "documentation")
    (tmp_path / "._a.md").write_bytes(b"\0\5\26\7")
    assert [file.path for file in find_sources(config(tmp_path))] == [str(path)]


@pytest.mark.parametrize("source", ["books", "documentation", "json_lines"])
def test_a_language_that_no_text_tells_is_asked_for(tmp_path: Path, source: SourceName) -> None:
    with pytest.raises(SourceError, match=r"Set corpus\.lang"):
        find_sources(CorpusConfig(input=str(put(tmp_path, source))))


@pytest.mark.parametrize(
    "given",
    [{"source": "pdf"}, {"lang": ""}, {"lang": "en/us"}, {"input": [{"file": "a"}]}, {"book_paragraphs": "word"}],
)
def test_configuration_is_checked(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(CorpusConfig).validate_python(given)


def test_small_files_share_a_task(tmp_path: Path) -> None:
    file = find_sources(config(put(tmp_path, "books")))[0]
    files = [replace(file, path=f"/{i}", bytes=1000) for i in range(5000)] + [replace(file, bytes=50 << 20)]
    splits = plan(files, 4)
    bundles = bundle(splits, files, 4)
    assert [split for part in bundles for split in part] == splits
    assert len(bundles) < 20
    assert bundle([], [], 4) == []


def test_the_plan_does_not_change_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(json.dumps({"id": i, "text": f"The boats of harbour {i}. " * (i % 7)}) + "\n" for i in range(200))
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    whole = read_all(config(tmp_path))
    for size in (10, 333, 5000):
        monkeypatch.setattr(protocol, "_MIN_SPLIT", size)
        for tasks in (1, 7, 1000):
            found = read_all(config(tmp_path), tasks)
            assert sorted(found, key=str) == sorted(whole, key=str)


#: A sentence of each language, which stands in for a document of it.
SPOKEN = {
    "de": "Die Fähre fährt um sieben Uhr ab und nimmt den alten Weg über das Meer, der um die ganze Bucht führt.",
    "en": "The ferry to the island leaves at seven and takes the old road of the sea around the whole of the bay.",
    "fr": "Le bac pour les îles part à sept heures et prend la vieille route de la mer qui fait le tour de la baie.",
}


@pytest.mark.parametrize(("source", "suffix"), [("books", "txt"), ("documentation", "md"), ("documentation", "html")])
def test_a_language_is_found_by_the_text(tmp_path: Path, source: SourceName, suffix: str) -> None:
    for lang, text in SPOKEN.items():
        (tmp_path / f"{lang}.{suffix}").write_text(f"<p>{text}</p>\n" if suffix == "html" else f"{text}\n")
    (tmp_path / f"more.{suffix}").write_text(f"{SPOKEN['fr']}\n")
    (tmp_path / f"names.{suffix}").write_text("Oulu Kuopio\n")  # says nothing: as most of the others
    files = find_sources(CorpusConfig(input=str(tmp_path), source=source))
    assert [file.lang for file in files] == ["de", "en", "fr", "fr", "fr"]
    told = find_sources(CorpusConfig(input=[Input(str(tmp_path), lang="el")], source=source))
    assert {file.lang for file in told} == {"el"}


def test_each_line_of_mixed_json_has_its_language(tmp_path: Path) -> None:
    texts = [*SPOKEN.values(), "Oulu Kuopio Lahti"] * 3 + [SPOKEN["fr"]]
    (tmp_path / "a.jsonl").write_text(
        "".join(f"{json.dumps({'text': text, 'id': n})}\n" for n, text in enumerate(texts))
    )
    config = CorpusConfig(input=str(tmp_path / "a.jsonl"), min_characters=10)
    assert [(file.lang, file.languages) for file in find_sources(config)] == [("fr", ("de", "en", "fr"))]
    found = {int(row["doc_id"].partition(":")[2]): row["lang"] for row in read_all(config)}
    assert [found[n] for n in range(len(texts))] == ["de", "en", "fr", "fr"] * 3 + ["fr"]


def test_strays_in_json_of_one_language_are_left_to_the_filter(tmp_path: Path) -> None:
    texts = [SPOKEN["en"]] * 40 + [SPOKEN["de"]]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    (file,) = find_sources(CorpusConfig(input=str(tmp_path / "a.jsonl")))
    assert (file.lang, file.languages) == ("en", ())


def test_short_lines_of_json_tell_their_language_together(tmp_path: Path) -> None:
    words = SPOKEN["en"].split()
    halves = [" ".join(words[:8]), " ".join(words[8:])] * 4
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps({'text': half})}\n" for half in halves))
    assert [file.lang for file in find_sources(CorpusConfig(input=str(tmp_path / "a.jsonl")))] == ["en"]
