"""Settings of questions from held-out documents and from users."""

from collections import Counter
from pathlib import Path

from pydantic.dataclasses import dataclass

from contexture.retrieval.config import STOP_WORDS, Bm25Config
from contexture.strict import STRICT, Positive
from contexture.tasks.settings import SourceSettings, TaskSettings

#: Suffix of variants whose encoder is untrained.
UNTRAINED_SUFFIX = "_none"


@dataclass(config=STRICT, frozen=True)
class HeldOutConfig(SourceSettings):
    """Source of the user's questions."""

    # A file with a question and the document or passage that answers it per line, separated by a tab or, in .csv, a
    # comma; a question with several answers has several lines. null: no questions.
    input: str | None = None


@dataclass(config=STRICT, frozen=True)
class HeldOutSettings(TaskSettings):
    """Settings of the evaluation."""

    # Maximal number of questions of each kind.
    questions: Positive = 300

    def get_bm25_config(self, passages_dir: Path) -> Bm25Config:
        """Return BM25 without stop words of the passages' main language; see `TaskSettings.get_bm25_config`."""
        from contexture.retrieval.parquet_rows import read_batches

        ids = (doc_id for batch in read_batches(passages_dir, ["doc_id"]) for doc_id in batch["doc_id"].to_pylist())
        languages = Counter(doc_id.partition(":")[0] for doc_id in ids)
        main = max(sorted(languages), key=lambda lang: languages[lang], default="")
        return Bm25Config(stop_words=STOP_WORDS.get(main))
