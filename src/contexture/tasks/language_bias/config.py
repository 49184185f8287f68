"""Settings of language bias: its sentences and its measures."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT, check_names
from contexture.tasks.settings import PcrSentences, SourceSettings, TaskSettings

SetName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]


@dataclass(config=STRICT, frozen=True)
class LanguageBiasConfig(SourceSettings):
    """Files of the sentences."""

    # demo (the demo world, if it has languages), or name → a folder with test-en.tsv, test-de.tsv, … as in XTREME's
    # PAWS-X. Sentences are read from the first column.
    input: Literal["demo"] | dict[SetName, str] = Field(default_factory=dict)


@dataclass(config=STRICT, frozen=True)
class LanguageBiasSettings(TaskSettings):
    """Settings of the evaluation of frozen encoders."""

    # Sentences of each language that PCR is fitted on: their number in the corpus, or test, the evaluated ones (paper).
    pcr_sentences: PcrSentences = 2000
    # Variants whose vectors are plotted.
    drawn: list[str] = Field(default_factory=list)

    def check_variants(self, variants: Collection[str]) -> None:
        """Raise ValidationError, with the key, if the settings name a variant that is not in `variants`."""
        check_names("variant", self.drawn, variants, "drawn")

    def restrict_variants(self, variants: Collection[str]) -> Self:
        """Return the settings with only the entries of these variants."""
        return replace(self, drawn=[name for name in self.drawn if name in variants])
