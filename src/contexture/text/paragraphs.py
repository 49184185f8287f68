"""What every reader of documents gives: paragraphs of plain text with links, and counts of what was left out."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

#: What becomes of items of lists: left out, kept as paragraphs of kind "list_item", or kept as prose.
ListItems = Literal["drop", "flag", "keep"]


class Link(NamedTuple):
    """A link to another document: `text[start:end]` of its paragraph is what the reader sees of it."""

    target: str
    start: int
    end: int


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a document.

    Attributes:
        section_index: 0 for the lead, then one more with each heading of any level.
        section: the heading's text; "" for the lead.
        paragraph_index: 0, 1, … within the document.
        text: plain text on one line.
        links: links to other documents, in order.
        kind: "list_item" where the paragraph is one item of a list.
    """

    section_index: int
    section: str
    paragraph_index: int
    text: str
    links: list[Link]
    kind: Literal["prose", "list_item"] = "prose"


@dataclass
class Parsed:
    """The paragraphs of a document, and how many stretches of text were left out, by reason."""

    paragraphs: list[Paragraph] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
