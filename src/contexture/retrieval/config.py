"""Settings of search, without the libraries that do it: a run is checked before they are loaded."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT, Positive

#: Languages whose function words bm25s knows.
StopWords = Literal[
    "chinese", "danish", "dutch", "english", "french", "german", "italian",
    "korean", "norwegian", "portuguese", "russian", "spanish", "swedish", "turkish",
]  # fmt: skip
#: The same by their codes of ISO 639-1.
STOP_WORDS: dict[str, StopWords] = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "ko": "korean",
    "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ru": "russian", "sv": "swedish", "tr": "turkish",
    "zh": "chinese",
}  # fmt: skip


@dataclass(config=STRICT, frozen=True)
class Bm25Config:
    """Lucene's BM25 at the library's defaults; the paper does not say which it used."""

    # How soon another occurrence of a word ceases to count.
    k1: Annotated[float, Field(ge=0)] = 1.5
    # How much longer texts are held back, 0 to 1.
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    # Language whose function words are left out; null keeps all words.
    stop_words: StopWords | None = "english"


@dataclass(config=STRICT, frozen=True)
class IndexConfig:
    """How to search."""

    # flat: exact. ivf: only the lists of vectors near the query. hnsw: along a graph of near vectors.
    kind: Literal["flat", "ivf", "hnsw"] = "flat"
    # ivf: lists that are searched for a query.
    probes: Positive = 32
    # hnsw: breadth of the search for a query.
    breadth: Positive = 256
