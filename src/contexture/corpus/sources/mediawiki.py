"""MediaWiki exports: the dumps of Wikipedia and of any other wiki, and what the page Special:Export gives."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources.files import AGAIN, InputFile, compressions, inspect
from contexture.corpus.sources.protocol import Row, SourceFile, Split, blank, content_name, document, source_file
from contexture.corpus.sources.records import Record, read_records
from contexture.text.characters import unescape
from contexture.text.kinds import page_kind
from contexture.text.mediawiki import MalformedExportError, Page, Site, parse_page, parse_site
from contexture.text.paragraphs import ListItems
from contexture.text.templates import load_templates
from contexture.text.wikitext import parse

SUFFIXES = compressions(".xml")

_SPLITTABLE = (".xml", ".xml.bz2")
_TITLE = re.compile(r"<title>([^<]*)</title>")
_ID = re.compile(r"<id>\s*([0-9]{1,18})\s*</id>")


def check(inputs: Sequence[InputFile], lang: str = "") -> list[SourceFile]:
    """The exports, by their heads; their language is their own.

    Raises SourceError where a file is no MediaWiki export, neither UTF-8 nor UTF-16, or declares entities of its own.
    """
    return [_check(entry) for entry in inputs]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """Reads pages; of several of one number in several files the newest revision counts."""
    return partial(_rows, config=config, templates=_templates(config))


def _check(entry: InputFile) -> SourceFile:
    head = inspect(entry.path)
    site = _read_head(entry.path, head.data, head.encoding)
    is_split = head.encoding == "utf-8" and entry.path.lower().endswith(_SPLITTABLE)
    return source_file("mediawiki", entry, head, site.lang, "bytes" if is_split else "records", site=site)


def _read_head(path: str, head: bytes, found_encoding: str) -> Site:
    head = head.replace(b"\0", b"")
    declared = re.match(rb"""\s*<\?xml[^>]*encoding=["']([^"']*)""", head)
    fitting = (b"utf-8", b"utf8", b"us-ascii") if found_encoding == "utf-8" else (b"utf-16", found_encoding.encode())
    if declared and declared[1].lower() not in fitting:
        name = declared[1].decode("ascii", "replace")
        raise SourceError(f"{path}: declares the encoding {name}. Convert it first: iconv -f {name} -t UTF-8.")
    text = head.decode("utf-8", "replace")
    start = text.find("<mediawiki")
    if re.search("<!(?:DOCTYPE|ENTITY)", text[: start if start >= 0 else len(text)], re.IGNORECASE):
        raise SourceError(
            f"{path}: declares a document type of its own, which no MediaWiki export does and which can make a small "
            f"file expand without end. Refused; remove the declaration if you trust the file."
        )
    if start < 0:
        raise SourceError(
            f"{path}: is no MediaWiki export: no <mediawiki> in its first MiB, which starts {text[:40]!r}. "
            f"Exports are the files *-pages-articles*.xml.bz2 of a wiki's dumps, or what its page Special:Export gives."
        )
    if "<siteinfo" in text and "</siteinfo>" not in text:
        raise SourceError(f"{path}: cut off within its <siteinfo>. {AGAIN}")
    if "\ufffd" in text[start : text.find("</siteinfo>", start)]:
        raise SourceError(f"{path}: its head is not UTF-8. Convert it first: iconv -f … -t UTF-8.")
    try:
        return parse_site(text)
    except MalformedExportError as error:
        raise SourceError(f"{path}: {error}. {AGAIN}") from error


def _templates(config: CorpusConfig) -> str:
    """The user's table of templates, checked."""
    if config.templates is None:
        return ""
    try:
        written = Path(config.templates).expanduser().read_text("utf-8")
        load_templates("", written)
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{config.templates}: not a table of templates: {error}. Correct corpus.templates."
        ) from error
    return written


def _rows(split: Split, config: CorpusConfig, templates: str) -> Iterator[Row]:
    site = split.file.site
    if site is None:
        raise SourceError(f"{split.file.path}: its head was not read. Run the stage `sources` again.")
    for record in read_records(split, b"</page>"):
        yield from page_rows(record, site, config.min_characters, config.list_items, templates)


def page_rows(
    record: Record, site: Site, min_characters: int, list_items: ListItems = "drop", templates: str = ""
) -> Iterator[Row]:
    """Rows of the pages in a record: one, or more where files cut off in mid-page were joined; none behind the last."""
    *pieces, last = record.data.split(b"<page>")
    for piece in pieces[1:]:
        yield _lost(piece, site, "truncated")
    if record.state != "whole":
        # A file that is whole ends with the mark of its own end, and has no page behind the last one.
        if record.state == "too_large" or pieces or (record.state == "truncated" and b"</mediawiki>" not in last):
            yield _lost(last, site, "too_large" if record.state == "too_large" else "truncated")
        return
    if b"\0" in last:  # XML forbids it and no text means it, but damaged databases hold some
        last = last.replace(b"\0", b"")
    try:
        page = parse_page(f"<page>{last.decode()}</page>", site)
    except (MalformedExportError, UnicodeDecodeError):
        yield _lost(last, site, "malformed_xml")
    else:
        row = _row(page, site)
        if row["dropped"] is None and row["redirect"] is None:
            parsed = parse(page.text, site, min_characters, list_items=list_items, templates=templates)
            row = document(row, parsed)
        yield row


def _row(page: Page, site: Site) -> Row:
    row = blank(str(page.page_id), site.lang, page.title, revision=page.revision_id)
    if page.namespace != 0:
        return row | {"dropped": "namespace"}
    if page.redirect is not None:
        return row | {"redirect": page.redirect}
    return row | {"page_kind": page_kind(page.title, page.text, site)}


def _lost(piece: bytes, site: Site, reason: str) -> Row:
    """The row of a page that cannot be read, with its number and title where they can."""
    text = piece[:4096].replace(b"\0", b"").decode("utf-8", "replace").partition("<revision>")[0]
    title, number = _TITLE.search(text), _ID.search(text)
    name = number[1] if number else content_name(piece)
    return blank(name, site.lang, unescape(title[1]) if title else "", reason)
