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

    # Two files side by side (Moses), a translation memory (.tmx), or a table with tabs.
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    languages: tuple[Lang, Lang]
    # Of a table: the columns of the sides, counted from 1.
    columns: tuple[Column, Column] = (1, 2)

    def __post_init__(self) -> None:
        source, target = (two_letters(code.lower()) for code in self.languages)
        if source == target:
            raise ValueError(f"both sides are told to be {source}: name the languages of the two sides")
        memories = [file for file in self.files if suffix_of(file, compressions(".tmx"))]
        if memories and len(self.files) == 2:
            raise ValueError(f"{memories[0]} is a translation memory, which holds both sides: make it a set of its own")


@dataclass(config=STRICT, frozen=True)
class BitextConfig:
    """Where parallel sentences come from: sets by name, or the made-up world's."""

    input: Literal["demo"] | dict[str, BitextSet] = Field(default_factory=dict)

    @property
    def sets(self) -> dict[str, BitextSet]:
        """The sets that are named here; those of the made-up world are none until it is known where that lies."""
        return {} if isinstance(self.input, str) else self.input
