"""Result of all document parsers: paragraphs of plain text with links, and counts of dropped text."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from contexture.text.characters import drop_unwanted

#: List items are dropped, kept as paragraphs of kind "list_item", or kept as prose.
ListItems = Literal["drop", "flag", "keep"]


def one_line(text: str) -> str:
    """Return the text on one line: single spaces for white space, and no invisible characters."""
    return " ".join(drop_unwanted(text).split())


class Link(NamedTuple):
    """A link to another document, shown as `text[start:end]` of its paragraph."""

    target: str
    start: int
    end: int


class Paragraph(NamedTuple):
    """A paragraph of a document: plain text on one line, with its links in order."""

    #: 0 for the lead, plus one for each heading of any level.
    section_index: int
    #: The heading's text; "" for the lead.
    section: str
    #: 0, 1, … within the document.
    paragraph_index: int
    text: str
    links: list[Link]
    kind: Literal["prose", "list_item"] = "prose"


@dataclass
class Parsed:
    """Numbered paragraphs of a document, and counts of dropped parts by reason.

    Paragraphs shorter than `min_characters` are only counted.
    """

    min_characters: int = 1
    paragraphs: list[Paragraph] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    section_index: int = 0
    section: str = ""

    def begin_section(self, name: str) -> None:
        """Begin a section with this heading for the paragraphs that follow; `name` is on one line."""
        self.section_index += 1
        self.section = name

    def add(self, text: str, links: list[Link] | None = None, kind: Literal["prose", "list_item"] = "prose") -> None:
        """Add a paragraph, or count it as "too_short"; `text` is on one line."""
        if len(text) >= max(self.min_characters, 1):
            number = len(self.paragraphs)
            self.paragraphs.append(Paragraph(self.section_index, self.section, number, text, links or [], kind))
        elif text:
            self.count_dropped("too_short")

    def count_dropped(self, reason: str, count: int = 1) -> None:
        """Count parts of the document that the parser left out, by reason."""
        self.dropped[reason] = self.dropped.get(reason, 0) + count
