"""Sources of text: what each kind of file is found by, checked by, and read by.

A source is a module that keeps to `protocol.Source`; adding one is adding it here and to `config.SourceName`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import books, documentation, json_lines, mediawiki, wet
from contexture.corpus.sources.files import Found, find, suffix_of
from contexture.corpus.sources.protocol import Row, Source, SourceFile, Split

LOG = logging.getLogger(__name__)

SOURCES: dict[SourceName, Source] = {
    "mediawiki": mediawiki,
    "wet": wet,
    "json_lines": json_lines,
    "documentation": documentation,
    "books": books,
}
#: Their files' names leave no doubt, and files of text beside them (README.md, licence.txt) are notes.
_CERTAIN: tuple[SourceName, ...] = ("mediawiki", "wet", "json_lines")

_WHERE = "Set corpus.input to where the files are."


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
        told = one.source or config.source
        source = _tell(one.path) if told == "auto" else told
        found = _found(one.path, source)
        LOG.info("%s: %d files, read as %s", one.path, len(found), source)
        for file in SOURCES[source].check(found, one.lang or config.lang):
            files.setdefault(file.path, file)
    _check_names(files.values())
    return [files[path] for path in sorted(files)]


def _found(text: str, source: SourceName) -> list[Found]:
    """The files of a source that a path names."""
    suffixes = SOURCES[source].SUFFIXES
    found = [one for one in find(text, SOURCES[source].RECURSIVE) if suffix_of(one.path, suffixes)]
    if found:
        return found
    raise SourceError(
        f"{text}: no files of {source} there ({', '.join(suffixes)}). {_WHERE} Or set "
        f"corpus.source to what they are ({', '.join(SOURCES)})."
    )


def _tell(text: str) -> SourceName:
    """Which source a path's files belong to, by their names."""
    files = {recursive: find(text, recursive) for recursive in (False, True)}
    if not any(files.values()):
        raise SourceError(f"{text}: no files there: an empty folder or a pattern without matches. {_WHERE}")
    present = [
        name
        for name, source in SOURCES.items()
        if any(suffix_of(file.path, source.SUFFIXES) for file in files[source.RECURSIVE])
    ]
    certain = [name for name in present if name in _CERTAIN]
    if len(certain or present) == 1:
        return (certain or present)[0]
    if present:
        raise SourceError(
            f"{text}: files of several kinds ({', '.join(certain or present)}). Set corpus.source to the one that is "
            f"meant, or corpus.input to a list that names each."
        )
    ends = "; ".join(f"{name}: {', '.join(source.SUFFIXES)}" for name, source in SOURCES.items())
    raise SourceError(f"{text}: unknown kind of file. {_WHERE} Known are {ends}.")


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
