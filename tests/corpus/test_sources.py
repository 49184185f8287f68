"""Behaviour of all sources: finding files, recognizing their source, and errors for bad input."""

import gzip
import json
import logging
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from contexture.corpus.config import CorpusConfig, CorpusInput, SourceName
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import SOURCES, find_sources, protocol
from contexture.corpus.sources.protocol import SourceFile, bundle_splits, plan_splits
from tests.corpus.make import by_name, get_texts, make_article, make_export, read_all, read_path

WET = (
    "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: https://harbour.test/\r\n"
    "Content-Length: 31\r\n\r\nThe boats lie in the harbour.\r\n\r\n\r\n"
)
LINE = json.dumps({"id": "1", "text": "The boats lie in the harbour."}) + "\n"
#: Name and content of a small file of each source.
SMALL: dict[SourceName, tuple[str, str]] = {
    "mediawiki": ("a.xml", make_export(make_article(1)).decode()),
    "books": ("a.txt", "The boats lie in the harbour.\n"),
    "json_lines": ("a.jsonl", LINE),
    "documentation": ("a.md", "# Boats\n\nThe boats lie in the harbour.\n"),
    "wet": ("a.warc.wet", WET),
}
EACH_SOURCE = pytest.mark.parametrize("source", SMALL)


def make_config(path: Path | str, **settings: Any) -> CorpusConfig:
    return CorpusConfig(input=str(path), lang="en", min_characters=10, **settings)


def write_small_file(folder: Path, source: SourceName) -> Path:
    name, content = SMALL[source]
    path = folder / name
    path.write_bytes(content.encode())
    return path


def test_every_source_is_here() -> None:
    assert set(SMALL) == set(SOURCES)


@EACH_SOURCE
def test_a_file_and_its_folder(tmp_path: Path, source: SourceName) -> None:
    path = write_small_file(tmp_path, source)
    (file,) = find_sources(make_config(path))
    name = "a" if source == "books" else path.name
    assert (file.source, file.path, file.name, file.bytes) == (source, str(path), name, path.stat().st_size)
    assert find_sources(make_config(tmp_path)) == [file]
    assert find_sources(make_config(f"{tmp_path}/*")) == [file]
    assert find_sources(make_config(path, source=source)) == [file]
    assert TypeAdapter(list[SourceFile]).validate_python(json.loads(json.dumps([asdict(file)]))) == [file]
    (row,) = read_path(path)
    assert (row["dropped"], row["page_kind"]) == (None, "article")
    assert get_texts(row)[0].startswith(("The boats lie in the harbour.", "Harbour 1"))


@EACH_SOURCE
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom"])
def test_byte_order_marks(tmp_path: Path, source: SourceName, encoding: str) -> None:
    path = write_small_file(tmp_path, source)
    plain = read_path(path)
    text = path.read_bytes().decode()
    path.write_bytes(("\ufeff" + text).encode(encoding[:9]) if "bom" in encoding else text.encode(encoding))
    assert read_path(path) == plain


@EACH_SOURCE
def test_nul_bytes_are_dropped(tmp_path: Path, source: SourceName) -> None:
    path = write_small_file(tmp_path, source)
    plain = read_path(path)
    harbour = b"arbour 1 has" if source == "mediawiki" else b"in the har"
    content = path.read_bytes()
    hurt = harbour[:4] + b"\0" + harbour[4:]
    path.write_bytes(content.replace(harbour, hurt).replace(b"Length: 31", b"Length: 32"))
    assert path.read_bytes() != content
    assert [get_texts(row) for row in read_path(path)] == [get_texts(row) for row in plain]


OTHER_CONTENT = r"is no|is not|is a ZIP|is a PDF|byte 0x"


@EACH_SOURCE
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (gzip.compress(b"x", mtime=0), "holds gz data. Rename it to"),
        (b"\xff\xfe\0\0x\0\0\0", "is UTF-32"),
        (b"%PDF-1.7\n\x93\x8c\x8b\x9e" * 20, OTHER_CONTENT),
        (b"PK\3\4\x93\x8c\x8b\x9e", OTHER_CONTENT),
        (b"\x89PNG\r\n\x1a\n\0", OTHER_CONTENT),
    ],
)
def test_content_that_no_source_reads(tmp_path: Path, source: SourceName, content: bytes, words: str) -> None:
    path = write_small_file(tmp_path, source)
    path.write_bytes(content)
    with pytest.raises(SourceError, match=words) as error:
        find_sources(make_config(path))
    assert str(error.value).startswith(f"{path}: ")


@EACH_SOURCE
def test_unreadable(tmp_path: Path, source: SourceName, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_small_file(tmp_path, source)

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SourceError, match=r"cannot be read: .*Permission denied"):
        find_sources(make_config(path))


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = os.scandir

    def refuse(location: str) -> Any:
        if Path(location).name == "locked":
            raise PermissionError(13, "Permission denied", location)
        return listing(location)

    monkeypatch.setattr(os, "scandir", refuse)
    write_small_file(tmp_path, "books")
    (tmp_path / "locked").mkdir()
    for location in (tmp_path, tmp_path / "locked"):
        with pytest.raises(SourceError, match=r"cannot be read: .*Permission denied.*locked"):
            find_sources(make_config(location))


@EACH_SOURCE
def test_missing_paths(tmp_path: Path, source: SourceName) -> None:
    for location in (tmp_path, tmp_path / "missing", tmp_path / "*.none"):
        for settings in ({}, {"source": source}):
            with pytest.raises(SourceError, match=r"no such file|no files") as error:
                find_sources(make_config(location, **settings))
            assert str(error.value).startswith(f"{location}: ")


@EACH_SOURCE
def test_a_folder_of_other_files(tmp_path: Path, source: SourceName) -> None:
    for name in ("a.zip", "b.ZIP", "Makefile", "fs.json.gz"):
        (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(SourceError, match=rf"no files of {source}, only others \(2 \.zip") as error:
        find_sources(make_config(tmp_path, source=source))
    with pytest.raises(SourceError, match=r"only files of unknown kinds \(2 \.zip, .*1 without a suffix") as any_source:
        find_sources(make_config(tmp_path))
    for message in (str(error.value), str(any_source.value)):
        assert "1 .json.gz" in message
        assert "documentation (.md, .markdown, .html" in message
        assert "PDFs become text by pdftotext" in message
        assert "\n" not in message


def test_a_folder_is_read_with_its_subfolders_and_all_kinds(tmp_path: Path) -> None:
    folder = tmp_path / "sub/deeper"
    folder.mkdir(parents=True)
    paths = {source: str(write_small_file(folder, source)) for source in SMALL}
    for location in (tmp_path, f"{tmp_path}/**/*"):
        assert {file.source: file.path for file in find_sources(make_config(location))} == paths
    rows = read_path(tmp_path)
    assert len(rows) == len(SMALL) and not any(row["dropped"] for row in rows)
    for source in SMALL:
        (file,) = find_sources(make_config(tmp_path, source=source))
        assert file.source == source
        assert file.name == ("sub/deeper/a" if source == "books" else f"sub/deeper/{SMALL[source][0]}")


@pytest.mark.parametrize("pattern", ["", "/**/*.md"])
def test_linked_folders_are_read_once(tmp_path: Path, pattern: str) -> None:
    for folder in ("corpus/own", "elsewhere/deep"):
        (tmp_path / folder).mkdir(parents=True)
        write_small_file(tmp_path / folder, "documentation")
    (tmp_path / "corpus/handbook").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "corpus/above").symlink_to(tmp_path / "corpus")
    (tmp_path / "corpus/own/twice").symlink_to(tmp_path / "elsewhere/deep")
    files = find_sources(make_config(f"{tmp_path}/corpus{pattern}"))
    assert [file.name for file in files] == ["handbook/deep/a.md", "own/a.md"]
    assert files[0].path == str(tmp_path / "corpus/handbook/deep/a.md")


@pytest.mark.parametrize("source", ["mediawiki", "wet", "json_lines"])
def test_notes_next_to_dumps_are_skipped(tmp_path: Path, source: SourceName, caplog: pytest.LogCaptureFixture) -> None:
    dump = write_small_file(tmp_path, source)
    notes = ["README.md", "readme.de.md", "LICENSE.txt", "Licence.md", "SOURCE.txt", "enwiki-20261101-md5sums.txt"]
    for name in notes:
        (tmp_path / name).write_text("The boats lie in the harbour.\n")
    (tmp_path / "enwiki-pages-articles-multistream-index.txt.bz2").write_bytes(b"BZh9")
    (tmp_path / "resources.md").write_text("# Boats\n\nThe boats lie in the harbour.\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/README.md").write_text("# Boats\n\nThe boats lie in the harbour.\n")
    with caplog.at_level(logging.INFO):
        files = find_sources(make_config(tmp_path))
    assert [file.name for file in files] == [dump.name, "resources.md", "sub/README.md"]
    assert f"{tmp_path}: skipped: 7 notes next to dumps" in caplog.messages
    # Notes are read if only text is selected, or without a dump.
    (tmp_path / "enwiki-pages-articles-multistream-index.txt.bz2").unlink()
    assert len(find_sources(make_config(tmp_path, source="documentation"))) == 5
    dump.unlink()
    assert len(find_sources(make_config(tmp_path))) == 8


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_queries_of_a_beir_folder_are_skipped(tmp_path: Path, suffix: str, caplog: pytest.LogCaptureFixture) -> None:
    """Without a corpus next to them, they are documents."""
    for name in ("corpus", "queries"):
        content = json.dumps({"_id": name, "text": "The boats lie in the harbour."}).encode()
        (tmp_path / f"{name}.jsonl{suffix}").write_bytes(gzip.compress(content) if suffix else content)
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nqueries\tcorpus\t1\n")
    with caplog.at_level(logging.INFO):
        assert [file.name for file in find_sources(make_config(tmp_path))] == [f"corpus.jsonl{suffix}"]
    assert f"{tmp_path}: skipped: 1 .tsv, 1 queries" in caplog.messages
    assert [row["doc_id"] for row in read_path(tmp_path)] == ["en:corpus"]
    (tmp_path / f"corpus.jsonl{suffix}").unlink()
    assert [file.name for file in find_sources(make_config(tmp_path))] == [f"queries.jsonl{suffix}"]


def test_html_of_markdown_pages_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "other").mkdir()
    for name in ("fs.md", "fs.html", "fs.htm", "fs.txt", "fs.json.gz", "os.html", "other/os.md", "x.png", "y.PNG"):
        (tmp_path / name).write_text("The boats lie in the harbour.\n")
    with caplog.at_level(logging.INFO):
        files = find_sources(make_config(tmp_path))
    assert [file.name for file in files] == ["fs.md", "fs", "os.html", "other/os.md"]
    assert f"{tmp_path}: skipped: 2 .png, 1 .json.gz, 2 HTML of Markdown pages" in caplog.messages
    assert len(find_sources(make_config(f"{tmp_path}/*.html"))) == 2


def test_empty_pages_are_skipped_unless_all_are_empty(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("a.md", "b.txt"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(SourceError, match=r"a\.md: the file is empty"):
        find_sources(make_config(tmp_path))
    (tmp_path / "c.md").write_text("The boats lie in the harbour.\n")
    with caplog.at_level(logging.INFO):
        assert [file.name for file in find_sources(make_config(tmp_path))] == ["c.md"]
    assert f"{tmp_path}: skipped: 2 empty" in caplog.messages
    (tmp_path / "d.jsonl").write_bytes(b"")  # an empty dump is a failed download
    with pytest.raises(SourceError, match=r"d\.jsonl: the file is empty"):
        find_sources(make_config(tmp_path))


def test_many_inputs_and_languages(tmp_path: Path) -> None:
    folders = {lang: tmp_path / lang for lang in ("en", "de", "docs")}
    for folder in folders.values():
        folder.mkdir()
    write_small_file(folders["en"], "books")
    write_small_file(folders["de"], "books")
    write_small_file(folders["docs"], "documentation")
    wiki = write_small_file(tmp_path, "mediawiki")
    inputs: list[str | CorpusInput] = [
        str(folders["en"]),
        CorpusInput(str(folders["de"]), lang="de"),
        CorpusInput(str(folders["docs"]), source="documentation", lang="el"),
        str(wiki),
        str(wiki),
    ]
    rows = read_all(CorpusConfig(input=inputs, lang="en", min_characters=10))
    assert sorted(by_name(rows)) == ["de:a", "el:a.md", "en:1", "en:a"]
    with pytest.raises(SourceError, match="has the same name as"):
        find_sources(CorpusConfig(input=[str(folders["en"]), str(folders["de"])], lang="en"))
    whole = find_sources(CorpusConfig(input=f"{tmp_path}/**/*.txt", lang="en"))
    assert [file.name for file in whole] == ["de/a", "en/a"]


def test_a_name_that_is_not_utf8_raises(tmp_path: Path) -> None:
    """Files that are not read may have one."""
    write_small_file(tmp_path, "documentation")
    for name in (b"caf\xe9.png", b"caf\xe9.md"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        try:
            path.write_text("# Boats\n\nThe boats lie in the harbour.\n")
        except OSError:
            pytest.skip("the file system only has names in UTF-8")
        if path.suffix == ".png":
            assert len(find_sources(make_config(tmp_path))) == 1
    with pytest.raises(SourceError, match=r"caf\\xe9\.md: .*not UTF-8\. Rename"):
        find_sources(make_config(tmp_path))


def test_hidden_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_small_file(tmp_path / ".git", "documentation")
    path = write_small_file(tmp_path, "documentation")
    (tmp_path / "._a.md").write_bytes(b"\0\5\26\7")
    assert [file.path for file in find_sources(make_config(tmp_path))] == [str(path)]


@pytest.mark.parametrize("source", ["books", "documentation", "json_lines"])
def test_an_undetectable_language_raises(tmp_path: Path, source: SourceName) -> None:
    with pytest.raises(SourceError, match=r"Name its code, .*corpus\.lang"):
        find_sources(CorpusConfig(input=str(write_small_file(tmp_path, source))))


@pytest.mark.parametrize(
    "settings",
    [{"source": "pdf"}, {"lang": ""}, {"lang": "en/us"}, {"input": [{"file": "a"}]}, {"book_paragraphs": "word"}],
)
def test_configuration_is_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(CorpusConfig).validate_python(settings)


def test_small_files_share_a_task(tmp_path: Path) -> None:
    file = find_sources(make_config(write_small_file(tmp_path, "books")))[0]
    files = [replace(file, path=f"/{i}", bytes=1000) for i in range(5000)] + [replace(file, bytes=50 << 20)]
    splits = plan_splits(files, 4)
    bundles = bundle_splits(splits, files, 4)
    assert [split for part in bundles for split in part] == splits
    assert len(bundles) < 20
    assert bundle_splits([], [], 4) == []


def test_the_plan_does_not_change_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(json.dumps({"id": i, "text": f"The boats of harbour {i}. " * (i % 7)}) + "\n" for i in range(200))
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    whole = sorted(read_path(tmp_path), key=str)
    for size in (10, 333, 5000):
        monkeypatch.setattr(protocol, "_MIN_SPLIT_BYTES", size)
        for tasks in (1, 7, 1000):
            assert sorted(read_path(tmp_path, tasks), key=str) == whole


#: A sentence in each language, used as a document.
SENTENCES = {
    "de": "Die Fähre fährt um sieben Uhr ab und nimmt den alten Weg über das Meer, der um die ganze Bucht führt.",
    "en": "The ferry to the island leaves at seven and takes the old road of the sea around the whole of the bay.",
    "fr": "Le bac pour les îles part à sept heures et prend la vieille route de la mer qui fait le tour de la baie.",
}


@pytest.mark.parametrize(("source", "suffix"), [("books", "txt"), ("documentation", "md"), ("documentation", "html")])
def test_languages_are_detected(tmp_path: Path, source: SourceName, suffix: str) -> None:
    for lang, text in SENTENCES.items():
        (tmp_path / f"{lang}.{suffix}").write_text(f"<p>{text}</p>\n" if suffix == "html" else f"{text}\n")
    (tmp_path / f"more.{suffix}").write_text(f"{SENTENCES['fr']}\n")
    (tmp_path / f"names.{suffix}").write_text("Oulu Kuopio\n")  # undetectable: the most frequent language of the others
    files = find_sources(CorpusConfig(input=str(tmp_path), source=source))
    assert [file.lang for file in files] == ["de", "en", "fr", "fr", "fr"]
    overridden = find_sources(CorpusConfig(input=[CorpusInput(str(tmp_path), lang="el")], source=source))
    assert {file.lang for file in overridden} == {"el"}


def test_an_undetectable_language_is_that_of_other_sources(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("kedro\ntorch\n")
    (tmp_path / "a.warc.wet").write_bytes(WET.encode())
    with pytest.raises(SourceError, match=r"requirements\.txt: its language could not be detected"):
        find_sources(CorpusConfig(input=str(tmp_path)))
    for lang in ("de", "fr", "fr-too"):
        (tmp_path / f"{lang}.md").write_text(f"{SENTENCES[lang[:2]]}\n")
    result = {file.name: file.lang for file in find_sources(CorpusConfig(input=str(tmp_path)))}
    expected = {"requirements": "fr", "de.md": "de", "fr.md": "fr", "fr-too.md": "fr", "a.warc.wet": "auto"}
    assert result == expected


def test_each_line_of_mixed_json_has_its_language(tmp_path: Path) -> None:
    texts = [*SENTENCES.values(), "Oulu Kuopio Lahti"] * 3 + [SENTENCES["fr"]]
    (tmp_path / "a.jsonl").write_text(
        "".join(f"{json.dumps({'text': text, 'id': n})}\n" for n, text in enumerate(texts))
    )
    files = find_sources(CorpusConfig(input=str(tmp_path / "a.jsonl")))
    assert [(file.lang, file.languages) for file in files] == [("fr", ("de", "en", "fr"))]
    result = {int(row["doc_id"].partition(":")[2]): row["lang"] for row in read_path(tmp_path / "a.jsonl", lang="auto")}
    assert [result[n] for n in range(len(texts))] == ["de", "en", "fr", "fr"] * 3 + ["fr"]


HALVES = [" ".join(SENTENCES["en"].split()[:8]), " ".join(SENTENCES["en"].split()[8:])]


@pytest.mark.parametrize(
    "texts", [[SENTENCES["en"]] * 40 + [SENTENCES["de"]], HALVES * 4], ids=["a stray", "short lines"]
)
def test_json_of_one_language(tmp_path: Path, texts: list[str]) -> None:
    """The filter handles stray lines. The language of short lines is detected from all of them."""
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    (file,) = find_sources(CorpusConfig(input=str(tmp_path / "a.jsonl")))
    assert (file.lang, file.languages) == ("en", ())
