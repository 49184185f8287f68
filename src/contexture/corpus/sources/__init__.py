"""Sources of text. Each is a module that implements `protocol.Source`, listed here and in `config.SourceName`."""

import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePath
from typing import Literal

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import books, documentation, json_lines, mediawiki, wet
from contexture.corpus.sources.files import (
    COMPRESSED,
    InputFile,
    compressed_suffixes,
    find_files,
    find_suffix,
    strip_suffix,
)
from contexture.corpus.sources.languages import set_remaining_languages
from contexture.corpus.sources.protocol import Row, Source, SourceFile, Split
from contexture.text.language_codes import normalize_code

LOG = logging.getLogger(__name__)

SOURCES: dict[SourceName, Source] = {
    "mediawiki": mediawiki,
    "wet": wet,
    "json_lines": json_lines,
    "documentation": documentation,
    "books": books,
}
#: Sources with many documents in a file. Text files next to a dump may be notes about it.
DUMP_SOURCES: tuple[SourceName, ...] = ("mediawiki", "wet", "json_lines")
_PAGE_SOURCES: tuple[SourceName, ...] = ("documentation", "books")

_MAX_LISTED_KINDS = 8
#: Names of the documents and queries in a folder in BEIR's layout.
_BEIR_DOCUMENTS, _BEIR_QUERIES = compressed_suffixes("corpus.jsonl"), compressed_suffixes("queries.jsonl")
_NOTE_SUFFIXES = (".txt", ".md")
_NOTE_NAMES = re.compile(
    r"(?:readme|licen[cs]e)(?:[-_.].*)?|notice|sources?|changelog|changes|copying|copyright|authors|contributors"
    r"|contributing|manifest|(?:.*[-_.])?(?:md5|sha\d+)sums?|.*-multistream-index\d*"
)
_CONVERSION_HINT = (
    "PDFs become text by pdftotext; docs/bring-your-own-corpus.md says how, and of mail, tables and databases."
)

Reader = Callable[[Split], Iterator[Row]]


def open_readers(files: Sequence[SourceFile], config: CorpusConfig) -> dict[SourceName, Reader]:
    """Return source → the function that reads splits of its files in Spark tasks."""
    return {
        name: source.reader([file for file in files if file.source == name], config) for name, source in SOURCES.items()
    }


def read_rows(split: Split, readers: Mapping[SourceName, Reader]) -> Iterator[Row]:
    """Yield the rows of a split. Raises SourceError for a damaged or missing file."""
    try:
        yield from readers[split.file.source](split)
    except OSError as error:
        raise SourceError(f"{split.file.path}: cannot be read: {error}.") from error


def find_sources(config: CorpusConfig) -> list[SourceFile]:
    """Return all files of `config.input`, sorted by path, each once, with checked heads.

    Raises SourceError with the path and the remedy.
    """
    files: dict[str, SourceFile] = {}
    for entry in config.inputs():
        checked: list[SourceFile] = []
        for source, group in _find_by_source(entry.path, entry.source or config.source).items():
            LOG.info("%s: %d files, read as %s", entry.path, len(group), source)
            checked += SOURCES[source].check(group, normalize_code(entry.lang or config.lang))
        for file in set_remaining_languages(checked):
            files.setdefault(file.path, file)
    _check_names(files.values())
    _check_wikis(files.values())
    return [files[path] for path in sorted(files)]


def list_documents(files: Sequence[SourceFile]) -> list[tuple[str, str]]:
    """Return id and title of all documents; none if a file is a dump that has to be parsed."""
    documents: list[tuple[str, str]] = []
    for file in files:
        if file.source == "json_lines":
            documents += json_lines.list_documents(file)
        elif file.source in _PAGE_SOURCES:
            documents.append((f"{file.lang}:{file.name}", file.title))
        else:
            return []
    return documents


def _find_by_source(path: str, source: Literal["auto"] | SourceName) -> dict[SourceName, list[InputFile]]:
    """Return source → its files at a path: all sources, or the named one."""
    files = find_files(path)
    if not files:
        raise SourceError(
            f"{path}: no files: an empty folder, or a pattern without matches. Name the files or their folder."
        )
    names: list[SourceName] = list(SOURCES) if source == "auto" else [source]
    by_source, left_out = _group_files(files, {name: SOURCES[name].SUFFIXES for name in names})
    left_out_kinds = _describe_left_out(left_out)
    if not by_source:
        reason = "only files of unknown kinds" if source == "auto" else f"no files of {source}, only others"
        raise SourceError(f"{path}: {reason} ({left_out_kinds}). Known: {_describe_sources()}. {_CONVERSION_HINT}")
    if left_out_kinds:
        LOG.info("%s: skipped: %s", path, left_out_kinds)
    for file in chain.from_iterable(by_source.values()):
        readable = os.fsencode(file.path).decode("utf-8", "backslashreplace")
        if readable != file.path:
            raise SourceError(f"{readable}: this path is not UTF-8. Rename the file or its folder.")
    return by_source


def _describe_sources() -> str:
    """Return text such as "books (.txt)" for all sources with their suffixes, without those of compressions."""
    plain = {
        name: [end for end in source.SUFFIXES if not find_suffix(end, COMPRESSED)] for name, source in SOURCES.items()
    }
    return ", ".join(f"{name} ({', '.join(ends)})" for name, ends in plain.items())


def _check_names(files: Iterable[SourceFile]) -> None:
    """Raise SourceError if two books or pages of documentation of a language have the same `name`.

    The name is the path below the input folder, and the id of the document.
    """
    seen: dict[tuple[str, str], str] = {}
    for file in files:
        if file.source in ("books", "documentation"):
            other = seen.setdefault((file.lang, file.name), file.path)
            if other != file.path:
                raise SourceError(f"{file.path}: has the same name as {other}. Rename one, or name a common folder.")


def _check_wikis(files: Iterable[SourceFile]) -> None:
    """Raise SourceError for exports of two wikis in one language: the numbers of their pages, the ids, overlap."""
    seen: dict[str, tuple[str, str]] = {}
    for file in files:
        if file.site and file.site.dbname:
            dbname, other = seen.setdefault(file.lang, (file.site.dbname, file.path))
            if dbname != file.site.dbname:
                raise SourceError(
                    f"{file.path}: an export of the wiki {file.site.dbname}, but {other} is one of {dbname} in the "
                    f"same language ({file.lang}), with the same page numbers. Read each wiki in a run of its own."
                )


def _group_files(
    files: Sequence[InputFile], suffixes: Mapping[SourceName, Collection[str]]
) -> tuple[dict[SourceName, list[InputFile]], dict[str, int]]:
    """Return source → its files, and reason → number of skipped files.

    Skipped are files of other kinds, notes next to dumps, queries next to documents in BEIR's layout, HTML of pages
    that also exist in Markdown, and empty pages unless all files are empty.
    """
    by_source: dict[SourceName, list[InputFile]] = {
        name: [file for file in files if find_suffix(file.path, ends)] for name, ends in suffixes.items()
    }
    known = {file for group in by_source.values() for file in group}
    left_out = dict(Counter(_file_kind(file.path) for file in files if file not in known).most_common())
    dump_dirs = {PurePath(file.path).parent for name in DUMP_SOURCES for file in by_source.get(name, ())}
    markdown_pages = {strip_suffix(file.path, documentation.MARKDOWN) for file in known} - {None}
    beir_dirs = {PurePath(file.path).parent for file in known if PurePath(file.path).name in _BEIR_DOCUMENTS}
    has_text = any(file.bytes for file in known)
    reasons = {
        "notes next to dumps": {f for f in known if _is_note(f.path) and PurePath(f.path).parent in dump_dirs},
        "queries": {
            f for f in known if PurePath(f.path).name in _BEIR_QUERIES and PurePath(f.path).parent in beir_dirs
        },
        "HTML of Markdown pages": {
            file for file in known if strip_suffix(file.path, documentation.HTML) in markdown_pages
        },
        "empty": {file for name in _PAGE_SOURCES for file in by_source.get(name, ()) if has_text and not file.bytes},
    }
    for reason, group in reasons.items():
        if group & known:
            left_out[reason] = len(group & known)
            known -= group
    kept = {name: [file for file in group if file in known] for name, group in by_source.items()}
    return {name: group for name, group in kept.items() if group}, left_out


def _describe_left_out(left_out: Mapping[str, int]) -> str:
    """Return text such as "12 .png, 3 .pdf" about the first kinds of skipped files."""
    kinds = [f"{count:,} {kind}" for kind, count in left_out.items()]
    more = [f"{len(kinds) - _MAX_LISTED_KINDS} more kinds"] if len(kinds) > _MAX_LISTED_KINDS else []
    return ", ".join(kinds[:_MAX_LISTED_KINDS] + more)


def _file_kind(path: str) -> str:
    """Return a file's suffix, such as ".pdf", with the one before it if the file is compressed: ".tar.gz"."""
    suffixes = PurePath(path.lower()).suffixes
    last = suffixes[-2:] if suffixes[-1:] and suffixes[-1] in COMPRESSED else suffixes[-1:]
    return "".join(last) or "without a suffix"


def _is_note(path: str) -> bool:
    """Return whether a file's name is that of notes next to a dump, such as README.txt or LICENSE.md."""
    name = PurePath(path).name.lower()
    stem = strip_suffix(strip_suffix(name, COMPRESSED) or name, _NOTE_SUFFIXES)
    return stem is not None and _NOTE_NAMES.fullmatch(stem) is not None
