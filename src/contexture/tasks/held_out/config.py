"""How encoders are measured on what held-out documents give away, and where a user's own questions are."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.retrieval.config import STOP_WORDS, Bm25Config
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
        """BM25 without the function words of the passages' main language; see `TaskSettings.search_words`."""
        from contexture.retrieval.parquet_rows import read_batches

        ids = (doc_id for batch in read_batches(passages, ["doc_id"]) for doc_id in batch["doc_id"].to_pylist())
        languages = Counter(doc_id.partition(":")[0] for doc_id in ids)
        most = max(sorted(languages), key=lambda lang: languages[lang], default="")
        return Bm25Config(self.k1, self.b, STOP_WORDS.get(most))
