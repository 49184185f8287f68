"""Convert pages of documentation (HTML or Markdown) to sections and paragraphs with links. Never raises.

Navigation, code, tables, figures and forms are dropped. Links to other pages are kept with the page's title.
"""

import functools
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from contexture.text.characters import drop_unwanted, unescape
from contexture.text.html_tokens import parse_attributes, tokenize_html
from contexture.text.paragraphs import Link, ListItems, Parsed, one_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_UNCOUNTED_ELEMENTS = (
    "script style template noscript svg math form button select textarea iframe object audio video canvas dialog "
    "title xmp noembed noframes"
)
#: Dropped elements and the reasons that they are counted as; "" is not counted.
_LEFT_OUT = {
    "pre": "code",
    "table": "table",
    "figure": "figure",
    "nav": "navigation",
    "aside": "navigation",
    "header": "navigation",
    "footer": "navigation",
    "menu": "navigation",
} | dict.fromkeys(_UNCOUNTED_ELEMENTS.split(), "")
_ROLES = frozenset(("navigation", "search", "banner", "contentinfo", "complementary"))
_NAVIGATION = "toc toctree-wrapper sidebar sphinxsidebar breadcrumb breadcrumbs pagination navbar"
_CLASSES = dict.fromkeys(_NAVIGATION.split(), "navigation") | {"headerlink": "", "anchor": ""}

_BLOCK_NAMES = (
    "address article blockquote body br center dd details div dl dt fieldset h1 h2 h3 h4 h5 h6 hr html li main ol p "
    "section summary ul"
)
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_LISTS = ("ul", "ol", "dl")
_VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")

_FRONT_MATTER = re.compile(r"\s*---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
# Not multi-line descriptions, which begin with ">" or "|".
_DESCRIPTION = re.compile(r"""^description:[ \t]*(["']?)([^\s>|].*?)\1[ \t]*$""", re.MULTILINE)
_TITLE = re.compile(r"""^title:[ \t]*(["']?)(.+?)\1[ \t]*$""", re.MULTILINE)

Resolve = Callable[[str], str | None]


def parse_html(html: str, resolve: Resolve, min_characters: int = 1, list_items: ListItems = "flag") -> Parsed:
    """Return the paragraphs of an HTML page; only those of its main content if it is marked.

    `resolve` returns the title of the page at an address, or None. The first <h1> is the page's title, not a section.
    Reasons of drops: "code", "table", "figure", "navigation", "too_short" and, with `list_items="drop"`, "list_item".
    """
    page = _PageReader(resolve, min_characters, list_items, whole=False)
    page.read(html)
    if not page.main:
        page = _PageReader(resolve, min_characters, list_items, whole=True)
        page.read(html)
    return page.parsed


def parse_markdown(text: str, resolve: Resolve, min_characters: int = 1, list_items: ListItems = "flag") -> Parsed:
    """Return the front matter's description and the paragraphs of a CommonMark page, see `parse_html`."""
    front = _FRONT_MATTER.match(text)
    description = _DESCRIPTION.search(front[1]) if front else None
    first = f"<p>{escape(description[2])}</p>\n" if description else ""
    return parse_html(first + _render_markdown(text), resolve, min_characters, list_items)


def html_title(html: str) -> str:
    """Return the title of an HTML page: its first <h1>, preferably in <main> or <article>, else <title>, else ""."""
    titles = {"main": "", "h1": "", "title": ""}
    inside, in_main = "", False
    words: list[str] = []
    for token in tokenize_html(html):
        if token.kind == "start" and token.value in ("main", "article"):
            in_main = True
        elif token.kind == "start" and token.value in ("h1", "title"):
            words, inside = [], token.value
        elif token.kind == "text" and inside:
            words.append(token.value)
        elif token.kind == "end" and token.value == inside:
            source, inside = "main" if in_main and inside == "h1" else inside, ""
            titles[source] = titles[source] or one_line(unescape("".join(words))).rstrip("¶# ")
            if titles["main"]:
                break
    return next(filter(None, titles.values()), "")


def markdown_title(text: str) -> str:
    """Return the title of a Markdown page: that of its front matter, else its first heading of level one, else ""."""
    front = _FRONT_MATTER.match(text)
    title = _TITLE.search(front[1]) if front else None
    return one_line(title[2]) if title else html_title(_render_markdown(text))


def _render_markdown(text: str) -> str:
    """Return a Markdown page as HTML, without its front matter."""
    front = _FRONT_MATTER.match(text)
    html: str = _get_markdown_parser().render(text[front.end() :] if front else text)
    return html


@functools.cache
def _get_markdown_parser() -> "MarkdownIt":
    """Return the parser of CommonMark with tables, created once."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


class _PageReader:
    """Collects headings and paragraphs from tokens of the whole page, or of the main content."""

    def __init__(self, resolve: Resolve, min_characters: int, list_items: ListItems, whole: bool) -> None:
        self.parsed = Parsed(min_characters)
        self.resolve = resolve
        self.list_items = list_items
        self.whole = whole
        self.main, self.main_depth = "", 0  # element of the main content, and its depth
        self.skipped, self.depth = "", 0
        self.heading = ""
        self.titled = False
        self.lists = 0
        self.words = _ParagraphBuilder()

    def read(self, html: str) -> None:
        """Read a whole HTML page and collect its sections and paragraphs in `parsed`."""
        for token in tokenize_html(html):
            if token.kind == "text":
                if not self.skipped and (self.whole or self.main_depth):
                    self.words.add_text(token.value)
            elif token.kind == "start":
                self._start_element(token.value, token.attributes)
            else:
                self._end_element(token.value)
        self._end_paragraph()

    def _start_element(self, name: str, written: str) -> None:
        """Handle a start tag: skip the element, or end the paragraph at a block, or begin a link.

        `written` are the raw attributes.
        """
        if self.skipped:
            self.depth += name == self.skipped
            return
        attrs = parse_attributes(written) if written else {}
        if not self.whole:
            if not self.main_depth:
                if name != "main" and attrs.get("role") != "main":
                    return
                self.main = name
            self.main_depth += name == self.main
        reason = _get_drop_reason(name, attrs)
        if reason is not None:
            if name not in _VOID and not (name in ("svg", "math") and written.endswith("/")):
                self._skip_element(name, reason)
            return
        if name in _BLOCKS:
            self._end_paragraph()
            self.lists += name in _LISTS
            if name in _HEADINGS:
                self.heading = name
        elif name == "a":
            self.words.open_link(self.resolve(attrs["href"]) if "href" in attrs else None)

    def _skip_element(self, name: str, reason: str) -> None:
        """Skip all content up to the end of this element, and count it as dropped unless `reason` is ""."""
        if name not in ("button", "svg", "math", "a", "span"):  # inline elements
            self._end_paragraph()
        self.skipped, self.depth = name, 1
        if reason:
            self.parsed.count_dropped(reason)

    def _end_element(self, name: str) -> None:
        """Handle an end tag: end a skipped element, a link, a block with its paragraph, or the main content."""
        if self.skipped:
            self.depth -= name == self.skipped
            if not self.depth:
                self.skipped = ""
            return
        if name == "a":
            self.words.close_link()
        elif name in _BLOCKS:
            self._end_paragraph()
            self.lists = max(0, self.lists - (name in _LISTS))
        if self.main_depth and name == self.main:
            self._end_paragraph()
            self.main_depth -= 1

    def _end_paragraph(self) -> None:
        """Add the text since the last block to `parsed`: as a heading, a paragraph or a list item."""
        text, links = self.words.take_paragraph()
        heading, self.heading = self.heading, ""
        if not text:
            return
        if heading == "h1" and not self.titled:
            self.titled = True
        elif heading:
            self.parsed.begin_section(text.rstrip("¶# "))
        elif not self.lists or self.list_items == "keep":
            self.parsed.add(text, links)
        elif self.list_items == "flag":
            self.parsed.add(text, links, "list_item")
        else:
            self.parsed.count_dropped("list_item")


def _get_drop_reason(name: str, attrs: dict[str, str]) -> str | None:
    """Return why an element is dropped, "" if that is not counted; None to keep it."""
    if name in _LEFT_OUT:
        return _LEFT_OUT[name]
    if "hidden" in attrs or attrs.get("aria-hidden") == "true":
        return ""
    if attrs.get("role") in _ROLES:
        return "navigation"
    words = attrs.get("class", "").lower().split() if name not in ("body", "html", "main") else []
    return next((_CLASSES[word] for word in words if word in _CLASSES), None)


class _ParagraphBuilder:
    """Builder of a paragraph: text on one line, and links with exact offsets."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        """Begin an empty paragraph."""
        self.pieces: list[str] = []
        self.length = 0
        self.space = False
        self.links: list[Link] = []
        self.target: str | None = None
        self.link_start = -1

    def add_text(self, written: str) -> None:
        """Add raw text to the paragraph, with single spaces for white space."""
        text = drop_unwanted(unescape(written))
        words = " ".join(text.split())
        if not words:
            self.space = self.space or bool(text)
            return
        if self.length and (self.space or text[0].isspace()):
            self.pieces.append(" ")
            self.length += 1
        if self.target is not None and self.link_start < 0:
            self.link_start = self.length
        self.pieces.append(words)
        self.length += len(words)
        self.space = text[-1].isspace()

    def open_link(self, target: str | None) -> None:
        """Begin a link to `target`; None: not a link to another page."""
        self.close_link()
        self.target = target

    def close_link(self) -> None:
        """End the open link, and record it if it has text."""
        if self.target is not None and self.link_start >= 0:
            self.links.append(Link(self.target, self.link_start, self.length))
        self.target, self.link_start = None, -1

    def take_paragraph(self) -> tuple[str, list[Link]]:
        """Return text and links of the paragraph, and begin an empty one."""
        self.close_link()
        text, links = "".join(self.pieces), self.links
        self._clear()
        return text, links
