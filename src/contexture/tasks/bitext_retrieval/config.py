"""Settings of bitext retrieval: its parallel sentences and its measures."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.config import Lang
from contexture.strict import STRICT
from contexture.tasks.settings import PcrSentences, SourceSettings, TaskSettings

SetName = Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]


@dataclass(config=STRICT, frozen=True)
class TatoebaSet:
    """A folder of Tatoeba files, limited to some languages."""

    # Folder of the files.
    folder: str
    # Language codes of the file names: [deu, fra].
    languages: Annotated[list[Lang], Field(min_length=1)]


@dataclass(config=STRICT, frozen=True)
class BitextRetrievalConfig(SourceSettings):
    """Files of the parallel sentences."""

    # Name → a folder of Tatoeba files (tatoeba.deu-eng.deu, …), optionally with languages; a folder of BUCC files
    # (de-en/de-en.training.de, …); or files as in bitext.input. demo: the demo world's sets, if it has languages.
    input: Literal["demo"] | dict[SetName, str | TatoebaSet | BitextSet] = Field(default_factory=dict)


@dataclass(config=STRICT, frozen=True)
class BitextRetrievalSettings(TaskSettings):
    """Settings of the evaluation: nearest neighbours of frozen vectors by cosine."""

    # Sentences of each language that PCR is fitted on: their number in the corpus, or test, the evaluated ones (paper).
    # null: no PCR.
    pcr_sentences: PcrSentences | None = None
