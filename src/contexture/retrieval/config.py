"""Settings of search. They import no search library, so that settings are checked before the slow imports."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT, Positive

#: Languages with a stop word list in bm25s.
StopWords = Literal[
    "chinese", "danish", "dutch", "english", "french", "german", "italian",
    "korean", "norwegian", "portuguese", "russian", "spanish", "swedish", "turkish",
]  # fmt: skip
#: ISO 639-1 code → language.
STOP_WORDS: dict[str, StopWords] = {
    "da": "danish", "de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "ko": "korean",
    "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ru": "russian", "sv": "swedish", "tr": "turkish",
    "zh": "chinese",
}  # fmt: skip


@dataclass(config=STRICT, frozen=True)
class Bm25Config:
    """Lucene's BM25 with the defaults of bm25s; the paper does not report its parameters."""

    # Term frequency saturation.
    k1: Annotated[float, Field(ge=0)] = 1.5
    # Length normalization, 0 to 1.
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    # Language whose stop words are removed; null keeps all words.
    stop_words: StopWords | None = "english"


@dataclass(config=STRICT, frozen=True)
class IndexConfig:
    """Kind and parameters of a vector index."""

    # flat: exact search. ivf: inverted lists. hnsw: graph of neighbours.
    kind: Literal["flat", "ivf", "hnsw"] = "flat"
    # ivf: lists searched per query.
    probes: Positive = 32
    # hnsw: breadth of the search (efSearch).
    breadth: Positive = 256
