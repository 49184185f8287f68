"""Search in a folder that `passage_index` wrote: questions in, passages out.

It is opened for one question, too: what takes long to load is loaded where it is needed, and files are checked by their
sizes and by what made them; they are not read through.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from contexture.encoders.config import StaticConfig
from contexture.encoders.saved import damaged, encoder_checksum, saved
from contexture.encoders.static_queries import StaticQueries
from contexture.retrieval.bm25 import Bm25
from contexture.retrieval.config import IndexConfig
from contexture.retrieval.exact_search import search_every
from contexture.retrieval.fusion import EVEN, fuse
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.top import NOTHING, Rows, Scores
from contexture.retrieval.vectors import Array, check_identity, open_vectors

#: The parts of a search folder.
ENCODER, PASSAGES, VECTORS, WORDS = "encoder", "passages.parquet", "vectors", "words"
#: Places of each ranking that are fused, at least.
DEPTH = 100

#: By what passages are found: by the vectors of an encoder, by words (BM25), or by both, the rankings fused.
By = Literal["vectors", "words", "both"]


@dataclass(frozen=True)
class Hit:
    """A passage that was found.

    Its score is the inner product of vectors, BM25's score or, by both, the sum of ½ / (60 + place) over the two
    rankings. `by_vectors` and `by_words` are its places in these, from 1; None where it was not found so.
    """

    score: float
    passage_id: str
    title: str
    text: str
    by_vectors: int | None
    by_words: int | None


class PassageSearch:
    """A folder of `build_passage_index`, opened."""

    def __init__(self, folder: Path, index: IndexConfig | None = None, by: By | None = None) -> None:
        """Open what a search by vectors, words or both needs; None: both, where the folder has BM25.

        Raises ValueError where a part is missing, cut off, or made by another encoder.
        """
        if not (folder / PASSAGES).exists():
            raise ValueError(f"{folder} is no search index: make one with kedro run --tags index")
        self.by: By = by or ("both" if (folder / WORDS).exists() else "vectors")
        try:
            self.passages = ParquetRows(folder / PASSAGES)
        except (OSError, pa.ArrowInvalid) as error:
            raise ValueError(f"{folder / PASSAGES} is damaged ({error}): build the index again") from error
        self.rankings: dict[str, _VectorSearch | Bm25] = {}
        if self.by != "words":
            self.rankings["vectors"] = _VectorSearch(folder, index or IndexConfig())
        if self.by != "vectors":
            self.rankings["words"] = Bm25(folder / WORDS)
        for name, ranking in self.rankings.items():
            if len(ranking) != len(self.passages):
                raise ValueError(
                    f"{folder}: {len(self.passages)} passages, {len(ranking)} {name}: build the index again"
                )

    def __call__(self, query: str, k: int = 5) -> list[Hit]:
        """The k best passages, best first, or fewer where fewer are found; ValueError for an empty query."""
        if not query.strip():
            raise ValueError("the query is empty")
        depth = k if len(self.rankings) == 1 else max(k, DEPTH)
        found = [ranking.search([query], min(depth, len(self.passages))) for ranking in self.rankings.values()]
        scores, rows = found[0] if len(found) == 1 else fuse(found[0][1], found[1][1], EVEN, k)
        places = {name: _places(ranked[0]) for name, (_, ranked) in zip(self.rankings, found, strict=True)}
        by_vectors, by_words = places.get("vectors", {}), places.get("words", {})
        shown = rows[0][rows[0] >= 0].tolist()
        return [
            Hit(float(score), **passage, by_vectors=by_vectors.get(row), by_words=by_words.get(row))
            for row, score, passage in zip(shown, scores[0], self.passages.take(shown), strict=False)
        ]


class _VectorSearch:
    """Search for the passages whose vectors are nearest to that of the question."""

    def __init__(self, folder: Path, config: IndexConfig) -> None:
        self.embed = _embedder(folder / ENCODER)
        self.vectors = open_vectors(folder / VECTORS, read_all=False)
        check_identity(self.vectors, {"encoder": encoder_checksum(folder / ENCODER)})
        self.index = None
        if config.kind != "flat":
            from contexture.retrieval.search_index import open_index

            self.index = open_index(self.vectors, config)

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: Sequence[str], k: int) -> tuple[Scores, Rows]:
        """Scores and rows [Q, k], as of `search_every`; a query without a word, whose vector is 0, finds nothing."""
        vectors = self.embed(queries)
        search = self.index.search if self.index else partial(search_every, self.vectors)
        scores, rows = search(vectors, k)
        wordless = ~vectors.any(axis=1)
        scores[wordless], rows[wordless] = -np.inf, NOTHING
        return scores, rows


def _embedder(folder: Path) -> Callable[[Sequence[str]], Array]:
    """What makes vectors of questions; torch is loaded only where an encoder is more than a table of embeddings."""
    try:
        settings = saved(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder, error) from error
    if isinstance(settings.config, StaticConfig):
        return StaticQueries(folder, settings).embed
    from contexture.encoders.base import on_device
    from contexture.encoders.files import load_encoder

    encoder = on_device(load_encoder(folder))
    return lambda texts: encoder.embed(texts, "query")


def _places(rows: NDArray[np.int64]) -> dict[int, int]:
    return {row: place for place, row in enumerate(rows.tolist(), start=1) if row >= 0}
