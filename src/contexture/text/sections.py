"""Headings and paragraphs, gathered in their order."""

from typing import Literal

from contexture.text.characters import drop_unwanted
from contexture.text.paragraphs import Link, Paragraph, Parsed


def one_line(text: str) -> str:
    """The text without invisible characters, every white space a single space."""
    return " ".join(drop_unwanted(text).split())


class Sections:
    """The paragraphs of a document, numbered as they come; shorter ones than `min_characters` are only counted."""

    def __init__(self, min_characters: int = 1) -> None:
        self.min_characters = min_characters
        self.parsed = Parsed()
        self.index = 0
        self.name = ""

    def heading(self, name: str) -> None:
        """Begin a section; `name` is on one line."""
        self.index += 1
        self.name = name

    def paragraph(
        self, text: str, links: list[Link] | None = None, kind: Literal["prose", "list_item"] = "prose"
    ) -> None:
        """Add a paragraph; `text` is on one line."""
        if len(text) >= max(self.min_characters, 1):
            number = len(self.parsed.paragraphs)
            self.parsed.paragraphs.append(Paragraph(self.index, self.name, number, text, links or [], kind))
        elif text:
            self.drop("too_short")

    def drop(self, reason: str) -> None:
        """Count a stretch of text that is left out."""
        self.parsed.dropped[reason] = self.parsed.dropped.get(reason, 0) + 1
