"""Settings of parallel sentences."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.config import Lang
from contexture.corpus.sources.files import compressed_suffixes, find_suffix
from contexture.strict import STRICT
from contexture.text.language_codes import two_letter_code

Column = Annotated[int, Field(ge=1)]


@dataclass(config=STRICT, frozen=True)
class BitextSet:
    """Parallel sentences in two languages."""

    # Two aligned files (Moses), a translation memory (.tmx) or a tab-separated table.
    files: Annotated[list[str], Field(min_length=1, max_length=2)]
    # Languages of the two sides, such as [en, de].
    languages: tuple[Lang, Lang]
    # Columns of a table that hold the two sides, counted from 1.
    columns: tuple[Column, Column] = (1, 2)

    def __post_init__(self) -> None:
        source, target = (two_letter_code(code.lower()) for code in self.languages)
        if source == target:
            raise ValueError(f"both sides have the language {source}: name two different languages")
        memories = [file for file in self.files if find_suffix(file, compressed_suffixes(".tmx"))]
        if memories and len(self.files) == 2:
            raise ValueError(f"{memories[0]} is a translation memory, which holds both sides: make it a separate set")


@dataclass(config=STRICT, frozen=True)
class BitextConfig:
    """Parallel sentences to read: sets by name, or those of the demo."""

    input: Literal["demo"] | dict[str, BitextSet] = Field(default_factory=dict)

    @property
    def sets(self) -> dict[str, BitextSet]:
        """The configured sets of parallel sentences by name; empty for the demo, whose files are located later."""
        return {} if isinstance(self.input, str) else self.input
