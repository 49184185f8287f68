"""Documentation: a folder of pages in HTML or Markdown with links between them."""

import posixpath
import re
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import InputFile, inspect, require_utf8
from contexture.corpus.sources.protocol import Row, SourceFile, Split, read_document, source_file
from contexture.text.languages import languages_of
from contexture.text.paragraphs import ListItems, Parsed
from contexture.text.web import Resolve, html_title, markdown_title, parse_html, parse_markdown

MARKDOWN = (".md", ".markdown")
HTML = (".html", ".htm", ".xhtml")
SUFFIXES: tuple[str, ...] = (*MARKDOWN, *HTML)

_INDEX = ("index.html", "index.htm", "index.md", "README.md", "readme.md")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
# Characters of a page's beginning that its language is detected by.
_LANGUAGE_CHARACTERS = 20_000


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """The pages, each with a title of its own: the page's, with its path if several share one.

    Raises SourceError where a page's first MiB is not UTF-8 or UTF-16.
    """
    files = languages.set_languages([_check(entry, lang) for entry in inputs])
    titles = Counter(file.title for file in files)
    return [replace(file, title=f"{file.title} ({file.name})") if titles[file.title] > 1 else file for file in files]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A page is a document, see `read_document`."""
    titles: dict[str, dict[str, str]] = {}
    for file in files:
        titles.setdefault(_root(file), {})[file.name] = file.title
    return partial(_rows, titles=titles, config=config)


def _check(entry: InputFile, lang: str) -> tuple[SourceFile, Counter[str]]:
    """The file, and the languages of its first passages where its language is to be found."""
    head = inspect(entry.path)
    require_utf8(entry.path, head)
    text = head.data.replace(b"\0", b"").decode("utf-8", "ignore")
    title = markdown_title(text) if entry.name.lower().endswith(MARKDOWN) else html_title(text)
    passages = Counter[str]()
    if lang == languages.AUTO:
        start = _parse(entry.name, text[:_LANGUAGE_CHARACTERS], lambda address: None, 1, "keep")
        passages = languages_of(paragraph.text for paragraph in start.paragraphs)
    return source_file("documentation", entry, head, lang, title=title or entry.name), passages


def _root(file: SourceFile) -> str:
    return file.path.removesuffix(file.name)


def _rows(split: Split, titles: Mapping[str, Mapping[str, str]], config: CorpusConfig) -> Iterator[Row]:
    file = split.file
    resolve = partial(_resolve, page=file.name, titles=titles[_root(file)])

    def parse(text: str) -> Parsed:
        return _parse(file.name, text.replace("\0", ""), resolve, config.min_characters, config.list_items)

    yield read_document(file, parse)


def _parse(name: str, text: str, resolve: Resolve, min_characters: int, list_items: ListItems) -> Parsed:
    parse = parse_markdown if name.lower().endswith(MARKDOWN) else parse_html
    return parse(text, resolve, min_characters, list_items)


def _resolve(address: str, page: str, titles: Mapping[str, str]) -> str | None:
    """Title of the page that a link on `page` leads to; None where that is the page itself or none of `titles`."""
    address = address.strip()
    if _ELSEWHERE.match(address):
        return None
    path = urllib.parse.unquote(re.split("[?#]", address, maxsplit=1)[0])
    if not path:
        return None
    target = posixpath.normpath(posixpath.join("/", posixpath.dirname(page), path)).lstrip("/")
    name = next((name for name in _candidates(target) if name in titles), None)
    return None if name is None or name == page else titles[name]


def _candidates(target: str) -> Iterator[str]:
    """Files that may answer to an address: itself, a folder's index, one without its suffix, or one to be rendered."""
    yield target
    yield from (posixpath.join(target, name) for name in _INDEX)
    yield from (target + suffix for suffix in SUFFIXES)
    stem, suffix = posixpath.splitext(target)
    if suffix in SUFFIXES:
        yield from (stem + other for other in SUFFIXES)
        if posixpath.basename(stem) == "index":
            yield from (posixpath.join(posixpath.dirname(target), name) for name in _INDEX)
