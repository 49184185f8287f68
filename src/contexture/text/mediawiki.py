"""The two parts of a MediaWiki export: the site's description at its head, and a page."""

import functools
import re
import urllib.parse
from dataclasses import dataclass
from xml.etree import ElementTree

from contexture.text.characters import unescape
from contexture.text.namespaces import ARTICLE, CANONICAL, FILE, FILE_ALIASES

_FIRST_LINK = re.compile(r"\[\[([^\[\]|]+)")


class MalformedExportError(ValueError):
    """A piece of an export that is not well-formed XML or lacks a required element."""


@dataclass(frozen=True)
class Site:
    """The wiki that an export comes from."""

    #: `xml:lang`; "und" where the export names none.
    lang: str
    #: Such as "enwiki"; "" in exports older than 2014.
    dbname: str
    #: Lower-cased name → number, of every namespace but the articles', English names included.
    namespaces: dict[str, int]

    def namespace(self, title: str) -> int:
        """Number of the namespace that a full title lies in: 0 for an article."""
        prefix, colon, _ = title.partition(":")
        return self.namespaces.get(namespace_key(prefix), ARTICLE) if colon else ARTICLE


@dataclass(frozen=True)
class Page:
    """One page in its newest revision; `namespace` is 0 for articles."""

    page_id: int
    #: 0 where the export names none.
    revision_id: int
    namespace: int
    title: str
    #: The normalised title that the page sends its reader to.
    redirect: str | None
    #: Wikitext; "" where the export holds none.
    text: str


def namespace_key(name: str) -> str:
    """The form in which names of namespaces are compared."""
    return name.replace("_", " ").strip().lower()


@functools.lru_cache(1 << 16)  # titles recur
def normalize_title(link: str) -> str:
    """The title that a link's target names: no section, spaces for underscores, first letter upper-cased."""
    title = link.partition("#")[0]
    if "%" in title:
        title = urllib.parse.unquote(title, errors="ignore")
    title = " ".join(unescape(title).replace("_", " ").split()).removeprefix(":").lstrip()
    first = title[:1].upper()
    # Letters such as "ß" have no single capital: MediaWiki leaves them as they are.
    return first + title[1:] if len(first) == 1 else title


def parse_site(head: str) -> Site:
    """The site from the head of an export, which may go on after `</siteinfo>`. Raises MalformedExportError."""
    start = head.find("<mediawiki")
    tag_end = head.find(">", start)
    if start < 0 or tag_end < 0:
        raise MalformedExportError("no <mediawiki> element")
    info_end = head.find("</siteinfo>", tag_end)
    # From the element on, so that no document type, and no entity of its own, can come before it.
    xml = head[start : tag_end + 1] if info_end < 0 else head[start : info_end + len("</siteinfo>")]
    try:
        root = ElementTree.fromstring(xml.removesuffix("/>") + (">" if xml.endswith("/>") else "") + "</mediawiki>")
    except ElementTree.ParseError as error:
        raise MalformedExportError(f"its head is not well-formed XML: {error}") from error
    lang = root.get("{http://www.w3.org/XML/1998/namespace}lang") or "und"
    namespaces = dict(CANONICAL)
    namespaces.update(dict.fromkeys(FILE_ALIASES.get(lang, ()), FILE))
    for element in root.iterfind("{*}siteinfo/{*}namespaces/{*}namespace"):
        key = element.get("key", "")
        if element.text and re.fullmatch(r"-?[0-9]+", key):
            namespaces[namespace_key(element.text)] = int(key)
    return Site(lang, root.findtext("{*}siteinfo/{*}dbname", ""), namespaces)


def parse_page(xml: str, site: Site) -> Page:
    """Read one `<page>…</page>` element, in its last revision.

    A lone element cannot declare entities, so none can expand. Raises MalformedExportError if it is not well-formed or
    has no title or no number.
    """
    if not xml.startswith("<page"):
        raise MalformedExportError("does not start with <page>")
    try:
        page = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise MalformedExportError(str(error)) from error
    title, page_id = page.findtext("title"), page.findtext("id", "").strip()
    if not title or not _is_number(page_id):
        raise MalformedExportError("has no <title> or no numeric <id>")
    last = next(reversed(page.findall("revision")), ElementTree.Element("revision"))
    text, revision_id = last.findtext("text", ""), last.findtext("id", "").strip()
    namespace = page.findtext("ns", "").strip()
    return Page(
        page_id=int(page_id),
        revision_id=int(revision_id) if _is_number(revision_id) else 0,
        # Exports before 2012 do not state the namespace.
        namespace=int(namespace) if _is_number(namespace.removeprefix("-")) else site.namespace(title),
        title=title,
        redirect=_redirect_target(page, text),
        text=text,
    )


def _is_number(text: str) -> bool:
    return len(text) < 19 and text.isascii() and text.isdigit()


def _redirect_target(page: ElementTree.Element, text: str) -> str | None:
    element = page.find("redirect")
    if element is None:
        return None
    target = element.get("title")
    if target is None:  # exports before 2011 mark a redirect without naming its target
        link = _FIRST_LINK.search(text)
        target = link[1] if link else ""
    return normalize_title(target)
