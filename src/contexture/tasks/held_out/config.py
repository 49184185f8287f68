"""How encoders are measured on what held-out documents give away, and where a user's own questions are."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.retrieval.config import Bm25Config
from contexture.strict import STRICT, Positive
from contexture.tasks.settings import SourceSettings, TaskSettings

#: An encoder before it learned is called by its own name and this.
BEFORE = "_none"


@dataclass(config=STRICT, frozen=True)
class HeldOutConfig(SourceSettings):
    """Where a user's own questions are."""

    # A file of two columns, a tab or comma between: a question, and the document or passage that answers it, or several
    # lines for several. null: there are none.
    input: str | None = None


@dataclass(config=STRICT, frozen=True)
class HeldOutSettings(TaskSettings):
    """How many questions are made, and what they are compared with."""

    # Questions of each kind at most.
    questions: Positive = 300
    # Kinds with fewer say too little and are left out.
    least: Annotated[int, Field(ge=2)] = 10
    # BM25: how soon another occurrence of a word ceases to count, and how much longer texts are held back. The function
    # words that it leaves out are those of the language that most of the text is in.
    k1: Annotated[float, Field(ge=0)] = 1.5
    b: Annotated[float, Field(ge=0, le=1)] = 0.75

    def search_words(self, passages: Path) -> Bm25Config:
        """See `TaskSettings.search_words`."""
        from contexture.tasks.held_out.evidence import words_of

        return words_of(self, passages)
