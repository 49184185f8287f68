"""Split plain text into paragraphs: books and lines of text. Never raises."""

import re
from collections.abc import Iterator
from typing import Literal

from contexture.text.characters import drop_unwanted
from contexture.text.paragraphs import Parsed, one_line

Layout = Literal["line", "blank_line"]

#: Longer lines are not wrapped to a page width.
_MAX_WRAPPED_CHARS = 100
_MAX_HEADING_CHARS = 120
_MAX_HEADING_LINES = 3

_SECTION_WORDS = (
    "chapter|book|part|volume|letter|act|scene|canto|stave|chapitre|livre|partie|tome|lettre|"
    "kapitel|buch|teil|theil|band|brief|abschnitt|capitolo|libro|parte|capítulo|capitulo|hoofdstuk|deel|boek|"
    "κεφάλαιο|κεφαλαιο|μέρος|μερος|глава|часть|том|книга"
)
_NUMBERS = (
    r"(?-i:[IVXLCDM]+|[ivxlcdm]+)|\d{1,4}|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:[- ]\w+)?|"
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|"
    "premier|première|deux|trois|quatre|cinq|sept|huit|neuf|dix|primo|prima|primero|primera|eins|zwei|drei|"
    "πρώτο|δεύτερο|τρίτο|πρωτο|δευτερο|τριτο|(?-i:[Α-Ω]{1,3}[΄'ʹ]?)"
)
_ORDINALS = r"first|second|third|\w+th|\w+te[rs]?|premi[eè]re?|seconde?|\w+i[eè]me"
# "Part I." but not "Part I like best".
_HEADING = re.compile(
    rf"""(?:{_SECTION_WORDS})\s+(?:the\s+)?(?:{_NUMBERS})(?=[\s.,:;—–-]|$)(?!\s+(?-i:[a-z]))
      | (?:{_ORDINALS})\s+(?:{_SECTION_WORDS})\.?$
      | (?:prologue|epilogue|épilogue|prolog|epilog|preface|conclusion)\.?$""",
    re.IGNORECASE | re.VERBOSE,
)
_ROMAN = re.compile(r"[IVXLC]+\.?$")
_MARKED_HEADING = re.compile(r"#{1,6}\s+(\S.*)")
# Project Gutenberg's notes around a book.
_BOOK_START = re.compile(r"^\*{3} ?START OF TH(?:E|IS) PROJECT GUTENBERG.*$", re.MULTILINE)
_BOOK_END = re.compile(r"^\*{3} ?END OF TH(?:E|IS) PROJECT GUTENBERG", re.MULTILINE)


def parse_book(text: str, layout: Layout | Literal["auto"] = "auto", min_characters: int = 1) -> Parsed:
    """Return the paragraphs of a book, with chapters as sections.

    A paragraph is a line, or the lines up to a blank one. Headings start with "# ", or are short lines such as
    "CHAPTER IV. Of tides" or "XII.". Paragraphs shorter than `min_characters` ("too_short") and Project Gutenberg's
    notes ("boilerplate") are dropped.
    """
    parsed = Parsed(min_characters)
    lines = _drop_notes(text, parsed).splitlines()
    if layout == "auto":
        layout = detect_layout(lines)
    for block in _split_blocks(lines, layout):
        name = _find_heading(block)
        if name:
            parsed.begin_section(one_line(name))
        else:
            parsed.add(one_line(" ".join(block)))
    return parsed


def parse_text(text: str, layout: Layout, min_characters: int = 1) -> Parsed:
    """Return the paragraphs of plain text without headings; shorter ones are dropped ("too_short")."""
    parsed = Parsed(min_characters)
    for block in _split_blocks(text.splitlines(), layout):
        parsed.add(one_line(" ".join(block)))
    return parsed


def detect_layout(lines: list[str]) -> Layout:
    """Return the layout of a text: "line" if each line is a paragraph, "blank_line" if blank lines separate them.

    Consecutive lines belong together, unless more than a tenth of them are longer than a wrapped line.
    """
    following = [line for line, previous in zip(lines[1:], lines, strict=False) if line.strip() and previous.strip()]
    if len(following) == sum(1 for line in lines[1:] if line.strip()):  # no blank lines
        return "line"
    return "line" if sum(len(line) > _MAX_WRAPPED_CHARS for line in following) * 10 > len(following) else "blank_line"


def _drop_notes(text: str, parsed: Parsed) -> str:
    """Return a book's text without Project Gutenberg's notes before and after it, and count these as dropped."""
    begin = _BOOK_START.search(text)
    if begin:
        parsed.count_dropped("boilerplate")
        text = text[begin.end() :]
    finish = _BOOK_END.search(text)
    if finish:
        parsed.count_dropped("boilerplate")
        text = text[: finish.start()]
    return text


def _split_blocks(lines: list[str], layout: Layout) -> Iterator[list[str]]:
    """Yield the lines of each paragraph or marked heading."""
    block: list[str] = []
    for line in (drop_unwanted(line).strip() for line in lines):
        # A marked heading is always a separate block.
        if block and (not line or layout == "line" or _MARKED_HEADING.match(line) or _MARKED_HEADING.match(block[0])):
            yield block
            block = []
        if line:
            block.append(line)
    if block:
        yield block


def _find_heading(block: list[str]) -> str | None:
    """Return the heading if the lines are one, else None."""
    marked = _MARKED_HEADING.match(block[0])
    if marked:
        return marked[1].rstrip("# ")
    if len(block) > _MAX_HEADING_LINES or sum(map(len, block)) > _MAX_HEADING_CHARS:
        return None
    return " ".join(block) if _HEADING.match(block[0]) or _ROMAN.match(block[0]) else None
