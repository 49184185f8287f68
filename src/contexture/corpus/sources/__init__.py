"""Sources of text: what each kind of file is found by, checked by, and read by.

A source is a module that keeps to `protocol.Source`; adding one is adding it here and to `config.SourceName`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import books, documentation, json_lines, mediawiki, wet
from contexture.corpus.sources.files import COMPRESSED, Found, find, suffix_of
from contexture.corpus.sources.kinds import sort_files, told
from contexture.corpus.sources.languages import settle_rest
from contexture.corpus.sources.protocol import Row, Source, SourceFile, Split

LOG = logging.getLogger(__name__)

SOURCES: dict[SourceName, Source] = {
    "mediawiki": mediawiki,
    "wet": wet,
    "json_lines": json_lines,
    "documentation": documentation,
    "books": books,
}
_WHERE = "Set corpus.input to where the files are."
_WAYS = "PDFs become text by pdftotext; docs/bring-your-own-corpus.md says how, and of mail, tables and databases."

Reader = Callable[[Split], Iterator[Row]]


def open_readers(files: Sequence[SourceFile], config: CorpusConfig) -> dict[SourceName, Reader]:
    """What reads the splits of each kind of file, to be sent to the tasks."""
    return {
        name: source.reader([file for file in files if file.source == name], config) for name, source in SOURCES.items()
    }


def read_rows(split: Split, readers: Mapping[SourceName, Reader]) -> Iterator[Row]:
    """The rows of a split. Raises SourceError for a file that is damaged or has gone."""
    try:
        yield from readers[split.file.source](split)
    except OSError as error:
        raise SourceError(f"{split.file.path}: cannot be read: {error}.") from error


def find_sources(config: CorpusConfig) -> list[SourceFile]:
    """Every file of `config.input`, its head checked. Sorted by path; a file that is named twice comes once.

    Raises SourceError, naming the file or place and the way out.
    """
    files: dict[str, SourceFile] = {}
    for one in config.inputs():
        checked: list[SourceFile] = []
        for source, found in _sorted(one.path, one.source or config.source).items():
            LOG.info("%s: %d files, read as %s", one.path, len(found), source)
            checked += SOURCES[source].check(found, one.lang or config.lang)
        for file in settle_rest(checked):
            files.setdefault(file.path, file)
    _check_names(files.values())
    return [files[path] for path in sorted(files)]


def _sorted(text: str, source: Literal["auto"] | SourceName) -> dict[SourceName, list[Found]]:
    """The files that a path names, by their source: all, or those of one."""
    there = find(text)
    if not there:
        raise SourceError(f"{text}: no files there: an empty folder or a pattern without matches. {_WHERE}")
    asked: list[SourceName] = list(SOURCES) if source == "auto" else [source]
    read, left_out = sort_files(there, {name: SOURCES[name].SUFFIXES for name in asked})
    others = told(left_out)
    if not read:
        what = "only files of unknown kinds" if source == "auto" else f"no files of {source} there but others"
        raise SourceError(f"{text}: {what} ({others}). Known are {_known()}. {_WAYS}")
    if others:
        LOG.info("%s: left out: %s", text, others)
    return read


def _known() -> str:
    """The sources with their suffixes; that files may be compressed need not be said of each."""
    plain = {
        name: [end for end in source.SUFFIXES if not suffix_of(end, COMPRESSED)] for name, source in SOURCES.items()
    }
    return ", ".join(f"{name} ({', '.join(ends)})" for name, ends in plain.items())


def _check_names(files: Iterable[SourceFile]) -> None:
    """Books and pages of documentation are known by their names alone: two of one name would pass for one."""
    seen: dict[tuple[str, str], str] = {}
    for file in files:
        if file.source in ("books", "documentation"):
            other = seen.setdefault((file.lang, file.name), file.path)
            if other != file.path:
                raise SourceError(
                    f"{file.path}: has the name of {other}. Rename one, or set corpus.input to a folder above both."
                )
