"""Books: one plain text file each, the file's name its title."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import InputFile, compressions, inspect, require_utf8, without_suffix
from contexture.corpus.sources.protocol import Row, SourceFile, Split, read_document, source_file
from contexture.text.languages import languages_of
from contexture.text.plain import parse_book

SUFFIXES = compressions(".txt")
# Characters of a book's beginning that its language is detected by.
_LANGUAGE_CHARACTERS = 50_000


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """Raises SourceError where a book's first MiB is no text."""
    return languages.set_languages([_check(entry, lang) for entry in inputs])


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A book is one document, see `read_document`."""
    return partial(_rows, config=config)


def _check(entry: InputFile, lang: str) -> tuple[SourceFile, Counter[str]]:
    """The file, and the languages of its first passages where its language is to be found."""
    head = inspect(entry.path)
    require_utf8(entry.path, head)
    passages = Counter[str]()
    if lang == languages.AUTO:
        start = parse_book(head.data.decode("utf-8", "ignore")[:_LANGUAGE_CHARACTERS])
        passages = languages_of(paragraph.text for paragraph in start.paragraphs)
    name = without_suffix(entry.name, SUFFIXES) or entry.name
    title = re.sub(r"[\s_]+", " ", name.rpartition("/")[2]).strip()
    return source_file("books", entry._replace(name=name), head, lang, title=title), passages


def _rows(split: Split, config: CorpusConfig) -> Iterator[Row]:
    parse = partial(parse_book, layout=config.book_paragraphs, min_characters=config.min_characters)
    yield read_document(split.file, parse)
