"""Books: one plain text file each, the file's name its title."""

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources.files import Found, compressions, inspect, require_utf8, suffix_of, whole
from contexture.corpus.sources.protocol import MAX_DOCUMENT, Row, SourceFile, Split, blank, document
from contexture.text.plain import parse_book

SUFFIXES = compressions(".txt")
RECURSIVE = False


def check(found: Sequence[Found], lang: str | None) -> list[SourceFile]:
    """Raises SourceError where no language is told, a book's first MiB is no text, or two have one name."""
    return [_check(one, lang) for one in found]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A book is one document: dropped as "truncated" where its file is cut off, "too_large" or "not_utf8"."""
    return functools.partial(_rows, config=config)


def _check(found: Found, lang: str | None) -> SourceFile:
    if lang is None:
        raise SourceError(f"{found.path}: a book does not say its language. Set corpus.lang to its code, such as en.")
    head = inspect(found.path)
    require_utf8(found.path, head)
    return SourceFile(
        source="books",
        path=found.path,
        name=_without_suffix(found.name),
        bytes=head.size,
        fingerprint=head.fingerprint,
        encoding=head.encoding,
        shared="no",
        lang=lang,
        title=re.sub(r"[\s_]+", " ", _without_suffix(found.name).rpartition("/")[2]).strip(),
    )


def _without_suffix(name: str) -> str:
    return name[: -len(suffix_of(name, SUFFIXES) or "") or None]


def _rows(split: Split, config: CorpusConfig) -> Iterator[Row]:
    file = split.file
    row = blank(file.name, file.lang, file.title)
    try:
        content = whole(file.path, file.encoding, MAX_DOCUMENT)
        if content is None:
            yield row | {"dropped": "too_large"}
        else:
            yield document(row, parse_book(content.decode(), config.book_paragraphs, config.min_characters))
    except EOFError:
        yield row | {"dropped": "truncated"}
    except UnicodeDecodeError:
        yield row | {"dropped": "not_utf8"}
