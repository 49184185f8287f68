"""Embed queries and candidates, and keep vectors and BM25 indexes of candidates on disk."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from contexture.encoders.base import Text
from contexture.encoders.config import Role
from contexture.encoders.models import load_models
from contexture.encoders.saved import is_encoder
from contexture.folders import work_folder
from contexture.retrieval.bm25 import Bm25, write_bm25
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.vectors import Array, Vectors, normalize, write_vectors

#: Text columns of a candidate.
TEXT_COLUMNS = ["sentence", "passage"]
#: Columns of candidates that are read, in this order.
CANDIDATE_COLUMNS = ["candidate_id", *TEXT_COLUMNS]


class Retriever:
    """Embeds queries and candidates for search by inner product.

    Vectors are scaled to length 1 if several encoders are concatenated, or if the encoder is a published model.
    """

    def __init__(self, encoders: Sequence[str], columns: Sequence[str] = CANDIDATE_COLUMNS) -> None:
        """Load encoders by folder or name; raise ValueError with the name of an encoder that cannot be loaded."""
        self.columns = list(columns)
        self.model = load_models(encoders)
        self.normalizes = len(encoders) > 1 or not is_encoder(Path(encoders[0]))

    def embed_queries(self, queries: Sequence[str]) -> Array:
        """Return the vectors of queries, (Q, D)."""
        return self._embed(queries, "query")

    def embed_documents(self, texts: Sequence[Text]) -> Array:
        """Return the vectors of documents, (N, D)."""
        return self._embed(texts, "document")

    def embed_candidates(self, candidates: ParquetRows, folder: Path) -> Vectors:
        """Return the vectors of all candidates; `folder` keeps them and is reused for the same model and texts.

        Only the texts of one shard are in memory at a time.
        """

        def embed(rows: range) -> Array:
            return self._embed(candidates.read_range(rows, self.columns[1:]), "document")

        identity = {
            "model": self.model.identity,
            "unit": self.normalizes,
            "texts": hash_texts(candidates, self.columns),
        }
        dimension = embed(range(1)).shape[1] if len(candidates) else 0
        folder.parent.mkdir(parents=True, exist_ok=True)
        return write_vectors(folder, len(candidates), dimension, embed, identity)

    def _embed(self, texts: Sequence[Any], role: Role) -> Array:
        vectors = self.model.embed(texts, role)
        return normalize(vectors) if self.normalizes else vectors


def build_bm25(texts: Iterable[str], folder: Path, config: Bm25Config) -> Bm25:
    """Build BM25 over `texts` in `folder`; raise ValueError as `write_bm25` does."""
    with work_folder(folder) as work_dir:
        write_bm25(texts, work_dir, config)
    return Bm25(folder)


def hash_texts(candidates: ParquetRows, columns: Sequence[str] = CANDIDATE_COLUMNS) -> str:
    """Return the SHA-256 of the candidates' ids and texts, in order."""
    digest = hashlib.sha256()
    for row in candidates.tuples(list(columns)):
        update_digest(digest, row)
    return digest.hexdigest()


def update_digest(digest: Any, texts: Iterable[str]) -> None:
    """Add texts to a `hashlib` hash, each preceded by its length."""
    for text in texts:
        content = text.encode()
        digest.update(len(content).to_bytes(8))
        digest.update(content)
