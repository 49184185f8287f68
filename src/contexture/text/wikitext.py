"""Convert wikitext to sections and paragraphs with links: pure Python, linear time, never raises.

Tables, references, files, galleries and templates that show no text of the sentence are dropped.
"""

from typing import Literal

from contexture.text.characters import GAP
from contexture.text.inline import clean_markup, drop_quotes
from contexture.text.markup import prune_markup
from contexture.text.mediawiki import Site
from contexture.text.paragraphs import ListItems, Parsed
from contexture.text.templates import load_templates


def parse(
    text: str, site: Site, min_characters: int = 1, *, list_items: ListItems = "drop", templates: str = ""
) -> Parsed:
    """Return the paragraphs of a wiki page, with their sections and links, from its wikitext.

    Reasons of drops: "too_short" (less than `min_characters`), "list_item" (list items and indented lines, unless
    kept) and "preformatted" (lines that start with a space). `templates` is YAML that overrides the package's table
    (see `contexture.text.templates`; ValueError if it is invalid).
    """
    markup, items = prune_markup(text, site, load_templates(site.lang, templates), drop_lists=list_items == "drop")
    parsed = _LineReader(min_characters, list_items).read(markup)
    if items:
        parsed.count_dropped("list_item", items)
    return parsed


# First characters of lines that are not plain text.
_SPECIAL = frozenset(" \t*#:;=|{!-" + GAP)


class _LineReader:
    """Collects headings, list items and paragraphs from lines."""

    def __init__(self, min_characters: int, list_items: ListItems) -> None:
        self.list_items = list_items
        self.parsed = Parsed(min_characters)
        self.lines: list[str] = []

    def read(self, markup: str) -> Parsed:
        """Return the paragraphs of pruned wikitext."""
        for line in markup.split("\n"):
            if not line:
                self._end_paragraph()
            elif line[0] in _SPECIAL or line.isspace():
                self._read_special_line(line)
            else:
                self._add_line(line)
        self._end_paragraph()
        return self.parsed

    def _read_special_line(self, line: str) -> None:
        """Read a line that may begin with a mark: begin a section, add or drop a list item, or end the paragraph.

        Preformatted text is dropped. A line without a mark is added as plain text.
        """
        bare = line.strip().lstrip(" \t" + GAP)
        if not bare:
            # A line of only templates and files is a box between paragraphs.
            self._end_paragraph()
        elif bare[0] in "*#:;":
            self._end_paragraph()
            self._read_list_item(bare)
        elif line[0] == " ":
            self._end_paragraph()
            self.parsed.count_dropped("preformatted")
        elif bare[0] == "=" and self._read_heading(bare.rstrip(" \t" + GAP)):
            pass
        elif bare[0] == "|" or (bare.startswith(("{|", "!")) and "|" in bare):
            self._end_paragraph()  # left over from an unbalanced table or template
        elif bare.startswith("----"):
            self._end_paragraph()
            self._add_line(bare.lstrip("-"))
        else:
            self._add_line(line)

    def _read_heading(self, line: str) -> bool:
        """Begin a section if the line is a heading; return whether it is."""
        level = min(len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")), 6)
        name = line[level:-level].strip() if level and len(line) > 2 * level else ""
        if not name:
            return False
        self._end_paragraph()
        self.parsed.begin_section(clean_markup(drop_quotes(name))[0])
        return True

    def _read_list_item(self, line: str) -> None:
        """Add a list item as a paragraph, or count it as dropped."""
        if self.list_items == "drop":
            self.parsed.count_dropped("list_item")
            return
        item = line.lstrip("*#:; \t" + GAP)
        if line[0] == ";":  # a term, optionally with a definition after a colon
            item = item.replace(" : ", ": ", 1)
        self._add_line(item)
        self._end_paragraph("prose" if self.list_items == "keep" else "list_item")

    def _add_line(self, line: str) -> None:
        """Add a line to the current paragraph, without the marks of bold and italics."""
        self.lines.append(drop_quotes(line) if "''" in line else line)

    def _end_paragraph(self, kind: Literal["prose", "list_item"] = "prose") -> None:
        """Add the paragraph made of the collected lines, if any."""
        if not self.lines:
            return
        text, links = clean_markup("\n".join(self.lines))
        self.lines = []
        self.parsed.add(text, links, kind)
