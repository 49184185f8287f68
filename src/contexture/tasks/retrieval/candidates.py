"""Candidates as vectors on disk, and how a model embeds them and the questions."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.encoders.config import Role
from contexture.encoders.models import load_models
from contexture.encoders.saved import is_encoder
from contexture.metrics.vectors import Array, Vectors, check_identity, unit, write_vectors
from contexture.tasks.retrieval.parquet_rows import ParquetRows

#: The parts of a candidate.
PARTS = ["sentence", "passage"]
#: What is read of candidates, in this order.
COLUMNS = ["candidate_id", *PARTS]


class Retriever:
    """What embeds questions and candidates so that their inner products rank them.

    One encoder of this project is taken as it was trained, by the inner product; the vectors of several side by side,
    and those of published models, are brought to length 1.
    """

    def __init__(self, encoders: Sequence[str]) -> None:
        """`encoders`: folders or names. Raises ValueError, naming it, where one cannot be loaded."""
        self.model = load_models(encoders)
        self.unit = len(encoders) > 1 or not is_encoder(Path(encoders[0]))

    def questions(self, questions: pd.DataFrame) -> Array:
        """Vectors of questions, (Q, D)."""
        return self._embed(questions["question"].tolist(), "query")

    def candidates(self, candidates: ParquetRows, folder: Path) -> Vectors:
        """Vectors of all candidates, kept in `folder`; those there of the same model and texts are not made again.

        `candidates`: candidate_id, sentence, passage; the texts of one shard of vectors are in memory at a time.
        """

        def embed(rows: range) -> Array:
            return self._embed(candidates.part(rows, PARTS), "document")

        identity = {"model": self.model.identity, "unit": self.unit, "texts": texts_checksum(candidates)}
        dimension = embed(range(1)).shape[1] if len(candidates) else 0
        folder.parent.mkdir(parents=True, exist_ok=True)
        stored = write_vectors(folder, len(candidates), dimension, embed, identity)
        check_identity(stored, identity)
        return stored

    def _embed(self, texts: Sequence[Any], role: Role) -> Array:
        vectors = self.model.embed(texts, role)
        return unit(vectors) if self.unit else vectors


def texts_of(candidates: pd.DataFrame) -> list[tuple[str, str]]:
    """Candidates as texts of two parts."""
    return list(candidates[PARTS].itertuples(index=False, name=None))


def texts_checksum(candidates: ParquetRows) -> str:
    """SHA-256 of the candidates' ids and texts, in their order."""
    found = hashlib.sha256()
    for row in candidates.tuples(COLUMNS):
        for text in row:
            content = text.encode()
            found.update(len(content).to_bytes(8))  # so that parts do not run together
            found.update(content)
    return found.hexdigest()
