"""Documentation: a folder of linked pages in HTML or Markdown."""

import posixpath
import re
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import InputFile, read_head, require_utf8
from contexture.corpus.sources.protocol import Row, SourceFile, Split, read_document
from contexture.text.languages import detect_languages
from contexture.text.paragraphs import ListItems, Parsed
from contexture.text.web import Resolve, html_title, markdown_title, parse_html, parse_markdown

MARKDOWN = (".md", ".markdown")
HTML = (".html", ".htm", ".xhtml")
SUFFIXES: tuple[str, ...] = (*MARKDOWN, *HTML)

_INDEX_FILES = ("index.html", "index.htm", "index.md", "README.md", "readme.md")
_EXTERNAL_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
# The beginning of a page, which its language is detected from.
_LANGUAGE_CHARS = 5_000


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """Check the first MiB of each page, and return the pages with unique titles.

    A page's path follows its title if several pages share the title. Raises SourceError if a page is neither UTF-8 nor
    UTF-16.
    """
    files = languages.set_languages([_check_file(entry, lang) for entry in inputs])
    titles = Counter(file.title for file in files)
    return [replace(file, title=f"{file.title} ({file.name})") if titles[file.title] > 1 else file for file in files]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """Return the function that reads a page into the row of one document, see `read_document`."""
    titles: dict[str, dict[str, str]] = {}
    for file in files:
        titles.setdefault(_root_dir(file), {})[file.name] = file.title
    return partial(_read_rows, titles=titles, config=config)


def _check_file(entry: InputFile, lang: str) -> tuple[SourceFile, Counter[str]]:
    """Return the checked page, and how many of its first passages are in each language if `lang` is AUTO."""
    head = read_head(entry.path)
    require_utf8(entry.path, head)
    text = head.data.replace(b"\0", b"").decode("utf-8", "ignore")
    title = markdown_title(text) if entry.name.lower().endswith(MARKDOWN) else html_title(text)
    passages = Counter[str]()
    if lang == languages.AUTO:
        start = _parse_page(entry.name, text[:_LANGUAGE_CHARS], lambda address: None, 1, "keep")
        passages = detect_languages(paragraph.text for paragraph in start.paragraphs)
    return SourceFile.from_head("documentation", entry, head, lang, title=title or entry.name), passages


def _root_dir(file: SourceFile) -> str:
    """Return the absolute path of the input folder that a page is in."""
    return file.path.removesuffix(file.name)


def _read_rows(split: Split, titles: Mapping[str, Mapping[str, str]], config: CorpusConfig) -> Iterator[Row]:
    """Yield the row of a page; `titles` has the titles of all pages by folder and file name, to resolve links."""
    file = split.file
    resolve = partial(_resolve_link, page=file.name, titles=titles[_root_dir(file)])

    def parse_content(text: str) -> Parsed:
        """Return the paragraphs of the page."""
        return _parse_page(file.name, text.replace("\0", ""), resolve, config.min_characters, config.list_items)

    yield read_document(file, parse_content)


def _parse_page(name: str, text: str, resolve: Resolve, min_characters: int, list_items: ListItems) -> Parsed:
    """Return the paragraphs of a page, read as Markdown or HTML by the suffix of its `name`."""
    parse = parse_markdown if name.lower().endswith(MARKDOWN) else parse_html
    return parse(text, resolve, min_characters, list_items)


def _resolve_link(address: str, page: str, titles: Mapping[str, str]) -> str | None:
    """Return the title of the page that a link on `page` leads to; None for the page itself and unknown pages."""
    address = address.strip()
    if _EXTERNAL_ADDRESS.match(address):
        return None
    path = urllib.parse.unquote(re.split("[?#]", address, maxsplit=1)[0])
    if not path:
        return None
    target = posixpath.normpath(posixpath.join("/", posixpath.dirname(page), path)).lstrip("/")
    # A site's address may begin with folders above the input folder: /docs/app/x for app/x.md.
    parts = target.split("/")
    shorter_targets = ["/".join(parts[start:]) for start in range(1, len(parts)) if path.startswith("/")]
    targets = [target, *(shorter for shorter in shorter_targets if shorter not in _INDEX_FILES)]
    candidates = (name for known in targets for name in _candidate_files(known))
    name = next((name for name in candidates if name in titles), None)
    return None if name is None or name == page else titles[name]


def _candidate_files(target: str) -> Iterator[str]:
    """Yield files that may match an address: the file itself, a folder's index, or a file with another suffix."""
    yield target
    yield from (posixpath.join(target, name) for name in _INDEX_FILES)
    yield from (target + suffix for suffix in SUFFIXES)
    stem, suffix = posixpath.splitext(target)
    if suffix in SUFFIXES:
        yield from (stem + other for other in SUFFIXES)
        if posixpath.basename(stem) == "index":
            yield from (posixpath.join(posixpath.dirname(target), name) for name in _INDEX_FILES)
