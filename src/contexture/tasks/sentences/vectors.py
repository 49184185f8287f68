"""Cached sentence vectors: each sentence is embedded once into a folder, and looked up by its text."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contexture.encoders.base import Encoder, TextEncoder
from contexture.encoders.expansion import expand_words
from contexture.encoders.models import WordAverage, load_model
from contexture.retrieval.vectors import Vectors, check_identity, write_vectors

Array = NDArray[np.float32]
#: N sentences → vectors (N, D).
Lookup = Callable[[Sequence[str]], Array]


class SentenceVectors:
    """A `Lookup` over memory-mapped vectors; only requested rows are copied.

    The vectors of several models are concatenated (combine-QT, MC-QT).
    """

    def __init__(self, sentences: Sequence[str], parts: Sequence[Vectors]) -> None:
        """`sentences`: distinct, one per row of each model's vectors."""
        self.parts = parts
        self._row = {sentence: row for row, sentence in enumerate(sentences)}
        for part in parts:
            if not len(self._row) == len(sentences) == len(part):
                raise ValueError(
                    f"{part.folder}: {len(part)} vectors for {len(sentences)} sentences, {len(self._row)} of them "
                    "distinct"
                )

    def __call__(self, texts: Sequence[str]) -> Array:
        """Return vectors (N, D); raises KeyError for a sentence that was not embedded."""
        rows = np.array([self._row[text] for text in texts], np.int64)
        return np.concatenate([part.take(rows) for part in self.parts], axis=1)

    def count_zeros(self) -> int:
        """Return the number of zero vectors (no known word); with several models, the smallest."""
        return min(sum(int((~block.any(axis=1)).sum()) for _, block in vectors.blocks(8192)) for vectors in self.parts)


class VectorStore:
    """A folder of the vectors of several encoders; each embeds a set of sentences once."""

    def __init__(self, folder: Path, words: Path | None = None) -> None:
        """`words`: word vectors that expand the vocabulary of our encoders; None: no expansion."""
        self.folder, self.words = folder, words

    def __call__(self, encoders: Sequence[str], sentences: Sequence[str], purpose: str) -> SentenceVectors:
        """Return the vectors of distinct sentences by encoders (folders or names), concatenated.

        `purpose` identifies the set of sentences. Raises ValueError as `load_model`, `expand_words` and
        `embed_sentences`.
        """
        models = [self.embed(self.load(name), name, sentences, purpose) for name in encoders]
        return SentenceVectors(sentences, [part for model in models for part in model.parts])

    def load(self, name: str) -> TextEncoder:
        """Return a model by its name; our encoders get an expanded vocabulary if the store has word vectors."""
        model = load_model(name)
        if self.words is not None and isinstance(model, Encoder):
            average = WordAverage(self.words)
            expand_words(model, average.vectors)
            model.identity = {**model.identity, "expanded": average.identity}
        return model

    def embed(self, model: TextEncoder, name: str, sentences: Sequence[str], purpose: str) -> SentenceVectors:
        """Return a model's vectors of sentences, kept in a folder of this purpose and model name."""
        return embed_sentences(model, sentences, self.folder / purpose / folder_name(name))


def folder_name(model: str) -> str:
    """Return a short, readable and unique folder name for a model's vectors."""
    readable = re.sub(r"[^\w.-]+", "-", model)[-40:].strip("-")
    return f"{readable}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def embed_sentences(
    model: TextEncoder, sentences: Sequence[str], folder: Path, rows_per_shard: int = 8192
) -> SentenceVectors:
    """Return vectors of distinct sentences, written to `folder`; vectors of the same model and sentences are reused.

    Finished shards survive an interruption (see `write_vectors`). Raises ValueError for no sentences, repeated
    sentences, and vectors that are not finite.
    """
    identity: dict[str, Any] = {"model": model.identity, "sentences": sentences_checksum(sentences)}

    def embed_rows(chosen: range) -> Array:
        return model.embed(sentences[chosen.start : chosen.stop])

    folder.parent.mkdir(parents=True, exist_ok=True)
    vectors = write_vectors(folder, len(sentences), model.dimension, embed_rows, identity, rows_per_shard)
    check_identity(vectors, identity)
    return SentenceVectors(sentences, [vectors])


def finite_vectors(vectors: Lookup, texts: Sequence[str]) -> Array:
    """Return the vectors of texts; raises ValueError, with the text, for one that is not finite."""
    rows = np.ascontiguousarray(vectors(texts))
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise ValueError(f"the vector of {texts[int(finite.argmin())]!r} is not finite: did the training diverge?")
    return rows


def sentences_checksum(sentences: Iterable[str]) -> str:
    """Return a SHA-256 checksum of sentences and their order."""
    checksum = hashlib.sha256()
    for sentence in sentences:
        text = sentence.encode()
        checksum.update(len(text).to_bytes(8, "little"))
        checksum.update(text)
    return checksum.hexdigest()
