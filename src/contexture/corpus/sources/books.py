"""Books: one plain text file each, the file's name its title."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import Found, compressions, inspect, require_utf8, suffix_of, whole
from contexture.corpus.sources.protocol import MAX_DOCUMENT, Row, SourceFile, Split, blank, document
from contexture.text.languages import languages_of
from contexture.text.plain import parse_book

SUFFIXES = compressions(".txt")
# Characters of a book's beginning that its language is told by.
_TOLD_BY = 50_000


def check(found: Sequence[Found], lang: str) -> list[SourceFile]:
    """Raises SourceError where a book's first MiB is no text."""
    files, passages = zip(*(_check(one, lang) for one in found), strict=True)
    return languages.settle(files, passages)


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A book is one document: dropped as "truncated" where its file is cut off, "too_large" or "not_utf8"."""
    return functools.partial(_rows, config=config)


def _check(found: Found, lang: str) -> tuple[SourceFile, Counter[str]]:
    """The file, and the languages of its first passages where its language is to be found."""
    head = inspect(found.path)
    require_utf8(found.path, head)
    passages = Counter[str]()
    if lang == languages.AUTO:
        start = parse_book(head.data.decode("utf-8", "ignore")[:_TOLD_BY])
        passages = languages_of(paragraph.text for paragraph in start.paragraphs)
    file = SourceFile(
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
    return file, passages


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
