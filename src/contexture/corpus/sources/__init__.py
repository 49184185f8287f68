"""Sources of text. A source is a module that keeps to `protocol.Source`, named here and in `config.SourceName`."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import books, documentation, json_lines, mediawiki, wet
from contexture.corpus.sources.files import COMPRESSED, Found, find, suffix_of
from contexture.corpus.sources.kinds import describe, sort_files
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
    """Every file of `config.input`, its head checked, sorted by path, each once.

    Raises SourceError, naming the path and the way out.
    """
    files: dict[str, SourceFile] = {}
    for entry in config.inputs():
        checked: list[SourceFile] = []
        for source, group in _sorted(entry.path, entry.source or config.source).items():
            LOG.info("%s: %d files, read as %s", entry.path, len(group), source)
            checked += SOURCES[source].check(group, entry.lang or config.lang)
        for file in settle_rest(checked):
            files.setdefault(file.path, file)
    _check_names(files.values())
    return [files[path] for path in sorted(files)]


def _sorted(path: str, source: Literal["auto"] | SourceName) -> dict[SourceName, list[Found]]:
    """The files that a path names, by their source: all, or those of one."""
    files = find(path)
    if not files:
        raise SourceError(
            f"{path}: no files there: an empty folder or a pattern without matches. "
            "Set corpus.input to where the files are."
        )
    names: list[SourceName] = list(SOURCES) if source == "auto" else [source]
    by_source, left_out = sort_files(files, {name: SOURCES[name].SUFFIXES for name in names})
    others = describe(left_out)
    if not by_source:
        reason = "only files of unknown kinds" if source == "auto" else f"no files of {source} there but others"
        raise SourceError(f"{path}: {reason} ({others}). Known are {_known()}. {_WAYS}")
    if others:
        LOG.info("%s: left out: %s", path, others)
    return by_source


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
