"""Where sentences in several languages come from, and what is measured of their neighbours."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT, Positive
from contexture.tasks.settings import SourceSettings, TaskSettings

SetName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]


@dataclass(config=STRICT, frozen=True)
class LanguageBiasConfig(SourceSettings):
    """Where the sentences come from."""

    # demo (the made-up world, where it has languages); or sets by name: a folder with test-en.tsv, test-de.tsv, …, as
    # XTREME has PAWS-X, of which the first column is taken.
    input: Literal["demo"] | dict[SetName, str] = Field(default_factory=dict)


@dataclass(config=STRICT, frozen=True)
class LanguageBiasSettings(TaskSettings):
    """What is measured of frozen encoders."""

    # Sentences of each language of the corpus by which its first component is found.
    pcr_sentences: Positive = 2000
    # Variants whose vectors are drawn.
    drawn: list[str] = Field(default_factory=list)

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValueError for a variant that is named here and is none of `variants`."""
        if unknown := [name for name in self.drawn if name not in variants]:
            raise ValueError(f"language_bias.drawn: no variant is called {unknown}; there are {sorted(variants)}")

    def restricted(self, variants: Collection[str]) -> Self:
        """The same for fewer variants."""
        return replace(self, drawn=[name for name in self.drawn if name in variants])
