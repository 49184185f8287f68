"""Settings of search. They import no search library, so that settings are checked before the slow imports."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT, Positive

#: Language of texts (ISO 639-1), detected by default.
AUTO = "auto"


@dataclass(config=STRICT, frozen=True)
class Bm25Config:
    """BM25 as Lucene has it: its formula, its defaults, and analysis of text by language (`terms.Analyzer`)."""

    # Term frequency saturation.
    k1: Annotated[float, Field(ge=0)] = 1.2
    # Length normalization, 0 to 1.
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    # Language of the texts as an ISO 639-1 code, for stemming and stop words; auto: that of most texts.
    language: Annotated[str, Field(pattern=r"^(auto|[a-z]{2,3})$")] = AUTO
    # Whether words are reduced to their stems (Snowball), in the languages of `terms.STEMMERS`.
    stemming: bool = True
    # Whether stop words are removed, in the languages that bm25s has a list for.
    stop_words: bool = True


#: Rank by the vectors of an encoder, by words (BM25), or by both rankings fused.
SearchMethod = Literal["vectors", "bm25", "hybrid"]


@dataclass(config=STRICT, frozen=True)
class SearchDefaults:
    """How an index is searched unless the user says otherwise."""

    method: SearchMethod = "hybrid"
    # Weight of the encoder's scores in "hybrid"; BM25 has the rest.
    weight: Annotated[float, Field(ge=0, le=1)] = 0.5


@dataclass(config=STRICT, frozen=True)
class IndexConfig:
    """Kind and parameters of a vector index."""

    # flat: exact search. ivf: inverted lists. hnsw: graph of neighbours.
    kind: Literal["flat", "ivf", "hnsw"] = "flat"
    # ivf: lists searched per query.
    probes: Positive = 32
    # hnsw: breadth of the search (efSearch).
    breadth: Positive = 256
