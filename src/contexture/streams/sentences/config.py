"""Settings of the streams of sentences."""

from typing import ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.streams.base_config import StreamConfig
from contexture.strict import STRICT, Positive


@dataclass(config=STRICT, frozen=True)
class SentencesConfig(StreamConfig):
    """Sentences of a corpus, drawn at random from the table of the contiguous ones."""

    # Files of the table of sentences; a document lies in one of them.
    files: Positive = Field(default=1, kw_only=True)
    implementation: ClassVar[str] = "contexture.streams.sentences.batches:ShuffledSentences"
    tables: ClassVar[str] = "contexture.streams.sentences.sample:tables"
    examples: ClassVar[str] = "sentences"


@dataclass(config=STRICT, frozen=True)
class ContiguousConfig(SentencesConfig):
    """Sentences of a corpus in their order (Quick-Thoughts, section 4.3)."""

    # documents: the neighbours of a sentence are of its own document. cross: whatever stands next to it in the batch,
    # such as the first sentence of the next document (released code).
    boundaries: Literal["documents", "cross"] = "documents"
    implementation: ClassVar[str] = "contexture.streams.sentences.batches:Contiguous"
