"""Wikitext to sections and paragraphs with links: pure Python, linear in the text's length, never raises.

Prose only: list items, indented lines, tables, templates, references, files, formulas and galleries are left
out, and headings become the names of sections.
"""

from contexture.text.characters import GAP
from contexture.text.inline import clean, drop_quotes
from contexture.text.markup import prune
from contexture.text.mediawiki import Site
from contexture.text.paragraphs import Paragraph, Parsed


def parse(text: str, site: Site, min_characters: int = 1) -> Parsed:
    """Paragraphs of a page's wikitext.

    Counted as dropped are paragraphs shorter than `min_characters` ("too_short"), list items and indented lines
    ("list_item") and lines of code or drawings, which start with a space ("preformatted"). All other things
    left out (templates, tables, …) are not text.
    """
    return _Blocks(min_characters).run(prune(text, site))


class _Blocks:
    """Sorts lines into headings, lists and paragraphs."""

    def __init__(self, min_characters: int) -> None:
        self.min_characters = min_characters
        self.parsed = Parsed()
        self.section_index = 0
        self.section = ""
        self.lines: list[str] = []

    def run(self, markup: str) -> Parsed:
        for line in markup.split("\n"):
            self._line(line)
        self._end_paragraph()
        return self.parsed

    def _line(self, line: str) -> None:
        bare = line.strip().lstrip(" \t" + GAP)
        if not bare:
            # A line of templates and files alone stands for a box beside or between the paragraphs.
            self._end_paragraph()
        elif bare[0] in "*#:;":
            self._end_paragraph()
            self._count("list_item")
        elif line[0] == " ":
            self._end_paragraph()
            self._count("preformatted")
        elif bare[0] == "=" and self._heading(bare.rstrip(" \t" + GAP)):
            pass
        elif bare[0] == "|" or (bare.startswith(("{|", "!")) and "|" in bare):
            self._end_paragraph()  # what an unbalanced table or template left
        elif bare.startswith("----"):
            self._end_paragraph()
            self._text(bare.lstrip("-"))
        else:
            self._text(line)

    def _heading(self, line: str) -> bool:
        level = min(len(line) - len(line.lstrip("=")), len(line) - len(line.rstrip("=")), 6)
        name = line[level:-level].strip() if level and len(line) > 2 * level else ""
        if not name:
            return False
        self._end_paragraph()
        self.section_index += 1
        self.section, _ = clean(drop_quotes(name))
        return True

    def _text(self, line: str) -> None:
        self.lines.append(drop_quotes(line) if "''" in line else line)

    def _end_paragraph(self) -> None:
        if not self.lines:
            return
        text, links = clean("\n".join(self.lines))
        self.lines = []
        if len(text) >= max(self.min_characters, 1):
            index = len(self.parsed.paragraphs)
            self.parsed.paragraphs.append(Paragraph(self.section_index, self.section, index, text, links))
        elif text:
            self._count("too_short")

    def _count(self, reason: str) -> None:
        self.parsed.dropped[reason] = self.parsed.dropped.get(reason, 0) + 1
