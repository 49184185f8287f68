"""Settings of the streams of sentences."""

from typing import ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class SentencesConfig(StreamConfig):
    """Sentences of the corpus in random order, from the same table as the contiguous ones."""

    # Files of the table of sentences. A document is in one file.
    files: Positive = Field(default=1, kw_only=True)
    implementation: ClassVar[str] = "contexture.streams.sentences.batches:ShuffledSentences"
    tables: ClassVar[str] = "contexture.streams.sentences.sample:tables"
    examples: ClassVar[str] = "sentences"


@dataclass(config=STRICT, frozen=True)
class ContiguousConfig(SentencesConfig):
    """Sentences of the corpus in their order (Quick-Thoughts, section 4.3)."""

    # documents: neighbours are in the same document. cross: neighbours are adjacent sentences of the batch, also of
    # different documents (released code).
    boundaries: Literal["documents", "cross"] = "documents"
    implementation: ClassVar[str] = "contexture.streams.sentences.batches:Contiguous"
