"""MediaWiki exports: dumps of Wikipedia and other wikis, and files from the page Special:Export."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources.files import DOWNLOAD_AGAIN, InputFile, compressed_suffixes, read_head
from contexture.corpus.sources.protocol import Row, SourceFile, Split, document_row, empty_row, name_by_content
from contexture.corpus.sources.records import RawRecord, read_records
from contexture.folders import expand_home
from contexture.text.characters import unescape
from contexture.text.kinds import page_kind
from contexture.text.mediawiki import MalformedExportError, Site, WikiPage, parse_page, parse_site
from contexture.text.paragraphs import ListItems
from contexture.text.templates import load_templates
from contexture.text.wikitext import parse

SUFFIXES = compressed_suffixes(".xml")

_SPLITTABLE_SUFFIXES = (".xml", ".xml.bz2")
_TITLE = re.compile(r"<title>([^<]*)</title>")
_ID = re.compile(r"<id>\s*([0-9]{1,18})\s*</id>")


def check(inputs: Sequence[InputFile], lang: str = "") -> list[SourceFile]:
    """Check the heads of exports, and return the exports with the languages that the heads state.

    Raises SourceError if a file is not a MediaWiki export, is neither UTF-8 nor UTF-16, or declares entities.
    """
    return [_check_file(entry) for entry in inputs]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """Return the function that reads a split's pages into rows.

    The newest revision of a page in several files counts.
    """
    return partial(_read_rows, config=config, templates=_read_templates(config))


def _check_file(entry: InputFile) -> SourceFile:
    """Return the checked export with the site that its head describes."""
    head = read_head(entry.path)
    site = _parse_head(entry.path, head.data, head.encoding)
    is_split = head.encoding == "utf-8" and entry.path.lower().endswith(_SPLITTABLE_SUFFIXES)
    return SourceFile.from_head("mediawiki", entry, head, site.lang, "bytes" if is_split else "records", site=site)


def _parse_head(path: str, head: bytes, encoding: str) -> Site:
    """Return the site that the head of an export describes. Raises SourceError if the head is not usable."""
    head = head.replace(b"\0", b"")
    declared = re.match(rb"""\s*<\?xml[^>]*encoding=["']([^"']*)""", head)
    allowed_names = (b"utf-8", b"utf8", b"us-ascii") if encoding == "utf-8" else (b"utf-16", encoding.encode())
    if declared and declared[1].lower() not in allowed_names:
        name = declared[1].decode("ascii", "replace")
        raise SourceError(f"{path}: declares the encoding {name}. Convert it first: iconv -f {name} -t UTF-8.")
    text = head.decode("utf-8", "replace")
    start = text.find("<mediawiki")
    if re.search("<!(?:DOCTYPE|ENTITY)", text[: start if start >= 0 else len(text)], re.IGNORECASE):
        raise SourceError(
            f"{path}: declares a document type, which can make a small file expand without limit. "
            f"Remove the declaration if you trust the file."
        )
    if start < 0:
        raise SourceError(
            f"{path}: is not a MediaWiki export: no <mediawiki> in its first MiB, which starts {text[:40]!r}. "
            f"Use *-pages-articles*.xml.bz2 of a wiki's dumps, or a file from its page Special:Export."
        )
    if "<siteinfo" in text and "</siteinfo>" not in text:
        raise SourceError(f"{path}: cut off within its <siteinfo>. {DOWNLOAD_AGAIN}")
    if "\ufffd" in text[start : text.find("</siteinfo>", start)]:
        raise SourceError(f"{path}: its head is not UTF-8. Convert it first: iconv -f … -t UTF-8.")
    try:
        return parse_site(text)
    except MalformedExportError as error:
        raise SourceError(f"{path}: {error}. {DOWNLOAD_AGAIN}") from error


def _read_templates(config: CorpusConfig) -> str:
    """Return the text of the user's table of templates, "" without one. Raises SourceError if it is invalid."""
    if config.templates is None:
        return ""
    try:
        table_text = expand_home(config.templates).read_text("utf-8")
        load_templates("", table_text)
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{config.templates}: not a table of templates: {error}. Correct corpus.templates."
        ) from error
    return table_text


def _read_rows(split: Split, config: CorpusConfig, templates: str) -> Iterator[Row]:
    """Yield the rows of the pages in a split."""
    site = split.file.site
    if site is None:
        raise SourceError(f"{split.file.path}: its head was not read. Run the pipeline `sources` again.")
    for record in read_records(split, b"</page>"):
        yield from read_page_rows(record, site, config.min_characters, config.list_items, templates)


def read_page_rows(
    record: RawRecord, site: Site, min_characters: int, list_items: ListItems = "drop", templates: str = ""
) -> Iterator[Row]:
    """Yield the row of a record's page, or several rows if truncated files were joined; none after the last page."""
    *pieces, last = record.data.split(b"<page>")
    for piece in pieces[1:]:
        yield _dropped_row(piece, site, "truncated")
    if record.state != "whole":
        # After the last page, a complete file has only its end tag.
        if record.state == "too_large" or pieces or (record.state == "truncated" and b"</mediawiki>" not in last):
            yield _dropped_row(last, site, "too_large" if record.state == "too_large" else "truncated")
        return
    if b"\0" in last:  # forbidden in XML, but damaged databases contain some
        last = last.replace(b"\0", b"")
    try:
        page = parse_page(f"<page>{last.decode()}</page>", site)
    except (MalformedExportError, UnicodeDecodeError):
        yield _dropped_row(last, site, "malformed_xml")
    else:
        row = _build_row(page, site)
        if row["dropped"] is None and row["redirect"] is None:
            parsed = parse(page.text, site, min_characters, list_items=list_items, templates=templates)
            row = document_row(row, parsed)
        yield row


def _build_row(page: WikiPage, site: Site) -> Row:
    """Return the row of a page before its text is parsed: dropped if it is no article, with a redirect's target."""
    row = empty_row(str(page.page_id), site.lang, page.title, revision=page.revision_id)
    if page.namespace != 0:
        return row | {"dropped": "namespace"}
    if page.redirect is not None:
        return row | {"redirect": page.redirect}
    return row | {"page_kind": page_kind(page.title, page.text, site)}


def _dropped_row(piece: bytes, site: Site, reason: str) -> Row:
    """Return the row of an unreadable page with the reason to drop it, and its number and title if readable."""
    text = piece[:4096].replace(b"\0", b"").decode("utf-8", "replace").partition("<revision>")[0]
    title, number = _TITLE.search(text), _ID.search(text)
    name = number[1] if number else name_by_content(piece)
    return empty_row(name, site.lang, unescape(title[1]) if title else "", reason)
