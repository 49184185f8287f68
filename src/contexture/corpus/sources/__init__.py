"""Sources of text. A source is a module that keeps to `protocol.Source`, named here and in `config.SourceName`."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Literal

from contexture.corpus.config import CorpusConfig, SourceName
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import books, documentation, json_lines, mediawiki, wet
from contexture.corpus.sources.files import COMPRESSED, InputFile, find, suffix_of, without_suffix
from contexture.corpus.sources.languages import set_remaining_languages
from contexture.corpus.sources.protocol import Row, Source, SourceFile, Split

LOG = logging.getLogger(__name__)

SOURCES: dict[SourceName, Source] = {
    "mediawiki": mediawiki,
    "wet": wet,
    "json_lines": json_lines,
    "documentation": documentation,
    "books": books,
}
#: Sources of many documents a file: what lies beside one may tell of it rather than belong to it.
DUMPS: tuple[SourceName, ...] = ("mediawiki", "wet", "json_lines")
_PAGES: tuple[SourceName, ...] = ("documentation", "books")

_MAX_KINDS = 8
_NOTES_SUFFIXES = (".txt", ".md")
_NOTES = re.compile(
    r"(?:readme|licen[cs]e)(?:[-_.].*)?|notice|sources?|changelog|changes|copying|copyright|authors|contributors"
    r"|contributing|manifest|(?:.*[-_.])?(?:md5|sha\d+)sums?|.*-multistream-index\d*"
)
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
        for file in set_remaining_languages(checked):
            files.setdefault(file.path, file)
    _check_names(files.values())
    return [files[path] for path in sorted(files)]


def _sorted(path: str, source: Literal["auto"] | SourceName) -> dict[SourceName, list[InputFile]]:
    """The files that a path names, by their source: all, or those of one."""
    files = find(path)
    if not files:
        raise SourceError(
            f"{path}: no files there: an empty folder or a pattern without matches. "
            "Set corpus.input to where the files are."
        )
    names: list[SourceName] = list(SOURCES) if source == "auto" else [source]
    by_source, left_out = _sort_files(files, {name: SOURCES[name].SUFFIXES for name in names})
    left_out_kinds = _describe(left_out)
    if not by_source:
        reason = "only files of unknown kinds" if source == "auto" else f"no files of {source} there but others"
        raise SourceError(f"{path}: {reason} ({left_out_kinds}). Known are {_known()}. {_WAYS}")
    if left_out_kinds:
        LOG.info("%s: left out: %s", path, left_out_kinds)
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


def _sort_files(
    files: Sequence[InputFile], suffixes: Mapping[SourceName, Collection[str]]
) -> tuple[dict[SourceName, list[InputFile]], dict[str, int]]:
    """The files of each source, and the number of those left out, by reason.

    Left out are files of other kinds, notes beside dumps, HTML of pages that are there in Markdown, and empty texts
    beside left_out_kinds.
    """
    by_source: dict[SourceName, list[InputFile]] = {
        name: [file for file in files if suffix_of(file.path, ends)] for name, ends in suffixes.items()
    }
    known = {file for group in by_source.values() for file in group}
    left_out = dict(Counter(_kind(file.path) for file in files if file not in known).most_common())
    dumps = {PurePath(file.path).parent for name in DUMPS for file in by_source.get(name, ())}
    written = {without_suffix(file.path, documentation.MARKDOWN) for file in known} - {None}
    texts = any(file.bytes for file in known)
    reasons = {
        "notes beside dumps": {f for f in known if _is_note(f.path) and PurePath(f.path).parent in dumps},
        "in HTML and Markdown, the HTML": {
            file for file in known if without_suffix(file.path, documentation.HTML) in written
        },
        "empty": {file for name in _PAGES for file in by_source.get(name, ()) if texts and not file.bytes},
    }
    for reason, group in reasons.items():
        if group & known:
            left_out[reason] = len(group & known)
            known -= group
    kept = {name: [file for file in group if file in known] for name, group in by_source.items()}
    return {name: group for name, group in kept.items() if group}, left_out


def _describe(left_out: Mapping[str, int]) -> str:
    """ "12 .png, 3 .pdf", of many kinds the first."""
    kinds = [f"{count:,} {kind}" for kind, count in left_out.items()]
    more = [f"{len(kinds) - _MAX_KINDS} more kinds"] if len(kinds) > _MAX_KINDS else []
    return ", ".join(kinds[:_MAX_KINDS] + more)


def _kind(path: str) -> str:
    """A file's suffix, with the one before it where it is compressed."""
    suffixes = PurePath(path.lower()).suffixes
    last = suffixes[-2:] if suffixes[-1:] and suffixes[-1] in COMPRESSED else suffixes[-1:]
    return "".join(last) or "without a suffix"


def _is_note(path: str) -> bool:
    name = PurePath(path).name.lower()
    stem = without_suffix(without_suffix(name, COMPRESSED) or name, _NOTES_SUFFIXES)
    return stem is not None and _NOTES.fullmatch(stem) is not None
