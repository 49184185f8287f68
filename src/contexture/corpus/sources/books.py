"""Books: one plain text file each. The file name is the title."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import InputFile, compressed_suffixes, read_head, require_utf8, strip_suffix
from contexture.corpus.sources.protocol import Row, SourceFile, Split, read_document
from contexture.text.languages import detect_languages
from contexture.text.plain import parse_book

SUFFIXES = compressed_suffixes(".txt")
# The beginning of a book, which its language is detected from.
_LANGUAGE_CHARS = 50_000


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """Check the first MiB of each book and return the books. Raises SourceError if one is not text."""
    return languages.set_languages([_check_file(entry, lang) for entry in inputs])


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """Return the function that reads a book into the row of one document, see `read_document`."""
    return partial(_read_rows, config=config)


def _check_file(entry: InputFile, lang: str) -> tuple[SourceFile, Counter[str]]:
    """Return the checked book, and how many of its first passages are in each language if `lang` is AUTO."""
    head = read_head(entry.path)
    require_utf8(entry.path, head)
    passages = Counter[str]()
    if lang == languages.AUTO:
        start = parse_book(head.data.decode("utf-8", "ignore")[:_LANGUAGE_CHARS])
        passages = detect_languages(paragraph.text for paragraph in start.paragraphs)
    name = strip_suffix(entry.name, SUFFIXES) or entry.name
    title = re.sub(r"[\s_]+", " ", name.rpartition("/")[2]).strip()
    return SourceFile.from_head("books", entry._replace(name=name), head, lang, title=title), passages


def _read_rows(split: Split, config: CorpusConfig) -> Iterator[Row]:
    """Yield the row of a book."""
    parse = partial(parse_book, layout=config.book_paragraphs, min_characters=config.min_characters)
    yield read_document(split.file, parse)
