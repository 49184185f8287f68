"""Parse the two parts of a MediaWiki export: the description of the site, and pages."""

import functools
import re
import urllib.parse
from dataclasses import dataclass
from xml.etree import ElementTree

from contexture.text.characters import unescape
from contexture.text.namespaces import ARTICLE, CANONICAL, FILE, FILE_ALIASES

_FIRST_LINK = re.compile(r"\[\[([^\[\]|]+)")


class MalformedExportError(ValueError):
    """Part of an export that is not well-formed XML or lacks a required element."""


@dataclass(frozen=True)
class Site:
    """The wiki of an export."""

    #: `xml:lang`; "und" if missing.
    lang: str
    #: Such as "enwiki"; "" in exports before 2014.
    dbname: str
    #: Lower-case name → number, including English names, without the articles' namespace.
    namespaces: dict[str, int]

    def namespace(self, title: str) -> int:
        """Return the number of a full title's namespace: 0 for an article."""
        prefix, colon, _ = title.partition(":")
        return self.namespaces.get(namespace_key(prefix), ARTICLE) if colon else ARTICLE


@dataclass(frozen=True)
class WikiPage:
    """A page in its newest revision; `namespace` is 0 for articles."""

    page_id: int
    #: 0 if missing.
    revision_id: int
    namespace: int
    title: str
    #: Normalized title of the redirect's target.
    redirect: str | None
    #: Wikitext; "" if missing.
    text: str


def namespace_key(name: str) -> str:
    """Return the name of a namespace in the form that is compared: lower case, with spaces for underscores."""
    return name.replace("_", " ").strip().lower()


@functools.lru_cache(1 << 16)  # titles recur
def normalize_title(link: str) -> str:
    """Return the title of the page that a link leads to: without section, with spaces and a first capital."""
    title = link.partition("#")[0]
    if "%" in title:
        title = urllib.parse.unquote(title, errors="ignore")
    title = " ".join(unescape(title).replace("_", " ").split()).removeprefix(":").lstrip()
    first = title[:1].upper()
    # MediaWiki does not change letters without a single capital, such as "ß".
    return first + title[1:] if len(first) == 1 else title


def parse_site(head: str) -> Site:
    """Return the site that the head of an export describes; the head may continue after `</siteinfo>`.

    Raises MalformedExportError.
    """
    start = head.find("<mediawiki")
    tag_end = head.find(">", start)
    if start < 0 or tag_end < 0:
        raise MalformedExportError("no <mediawiki> element")
    info_end = head.find("</siteinfo>", tag_end)
    # Parse from the element on, so that no document type can declare entities.
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


def parse_page(xml: str, site: Site) -> WikiPage:
    """Return the page of a `<page>…</page>` element, with its last revision.

    A single element cannot declare entities, so none can expand. Raises MalformedExportError if it is not well-formed
    or has no title or number.
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
    return WikiPage(
        page_id=int(page_id),
        revision_id=int(revision_id) if _is_number(revision_id) else 0,
        # Exports before 2012 do not state the namespace.
        namespace=int(namespace) if _is_number(namespace.removeprefix("-")) else site.namespace(title),
        title=title,
        redirect=_redirect_target(page, text),
        text=text,
    )


def _is_number(text: str) -> bool:
    """Return whether a text is a number of at most 18 digits."""
    return len(text) < 19 and text.isascii() and text.isdigit()


def _redirect_target(page: ElementTree.Element, text: str) -> str | None:
    """Return the normalized title that a page redirects to; None if it is no redirect."""
    element = page.find("redirect")
    if element is None:
        return None
    target = element.get("title")
    if target is None:  # exports before 2011 mark a redirect without naming its target
        link = _FIRST_LINK.search(text)
        target = link[1] if link else ""
    return normalize_title(target)
