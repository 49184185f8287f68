"""Where parallel sentences come from, and how retrieval among them is measured."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.config import Lang
from contexture.strict import STRICT, Positive
from contexture.tasks.settings import SourceSettings, TaskSettings

SetName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]


@dataclass(config=STRICT, frozen=True)
class TatoebaSet:
    """A folder of Tatoeba's files, of some languages."""

    folder: str
    # Codes as in the files' names: [deu, fra].
    languages: Annotated[list[Lang], Field(min_length=1)]


@dataclass(config=STRICT, frozen=True)
class BitextRetrievalConfig(SourceSettings):
    """Where the sets come from."""

    # Name → a folder of Tatoeba's files (tatoeba.deu-eng.deu, …), with some of its languages or with all;
    # a folder of BUCC's (de-en/de-en.training.de, …); or files as in bitext.input. Or demo: those of the made-up world,
    # where it has languages.
    input: Literal["demo"] | dict[SetName, str | TatoebaSet | BitextSet] = Field(default_factory=dict)


@dataclass(config=STRICT, frozen=True)
class BitextRetrievalSettings(TaskSettings):
    """Frozen vectors and their cosine."""

    # Sentences of each language of the corpus by which its first component is found, for PCR; null: not measured.
    pcr_sentences: Positive | None = None
