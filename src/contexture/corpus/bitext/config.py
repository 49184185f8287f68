"""What a user may turn about parallel sentences."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.config import Lang
from contexture.corpus.sources.files import compressions, suffix_of
from contexture.strict import STRICT
from contexture.text.language_codes import two_letters

Column = Annotated[int, Field(ge=1)]


@dataclass(config=STRICT, frozen=True)
class BitextSet:
    """Parallel sentences of two languages."""

    # Two files, of which the lines of one number belong together (Moses); or one, a translation memory (.tmx), else a
    # table with tabs between its columns. Each plain or compressed.
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    # Codes of the languages of the sides.
    languages: tuple[Lang, Lang]
    # Of a table: the columns of the sides, counted from 1.
    columns: tuple[Column, Column] = (1, 2)

    def __post_init__(self) -> None:
        one, other = (two_letters(code.lower()) for code in self.languages)
        if one == other:
            raise ValueError(f"both sides are told to be {one}: name the languages of the two sides")
        memories = [file for file in self.files if suffix_of(file, compressions(".tmx"))]
        if memories and len(self.files) == 2:
            raise ValueError(f"{memories[0]} is a translation memory, which holds both sides: make it a set of its own")


@dataclass(config=STRICT, frozen=True)
class BitextConfig:
    """Where parallel sentences come from, and which are kept."""

    # Name → set; or demo: those of the made-up world, where it has languages.
    input: Literal["demo"] | dict[str, BitextSet] = Field(default_factory=dict)
    # Pairs are dropped of which one side is so many times as long as the other, in characters, where those of the
    # whole set are made equally long; ten characters more are never too many.
    max_ratio: Annotated[float, Field(gt=1)] = 3.0
    # Files of the table of pairs.
    files: Annotated[int, Field(gt=0)] = 4

    @property
    def sets(self) -> dict[str, BitextSet]:
        """The sets that are named here; those of the made-up world are none until it is known where that lies."""
        return {} if isinstance(self.input, str) else self.input
