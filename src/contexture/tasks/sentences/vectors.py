"""Every sentence of every task embedded once: a folder of vectors, and the tasks' access to them by the text."""

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
#: N sentences → their vectors (N, D), which is all that an evaluation knows of a model.
Lookup = Callable[[Sequence[str]], Array]


class SentenceVectors:
    """A `Lookup` over vectors on disk, which are mapped and copied only as they are asked for.

    The vectors of several models are concatenated (combine-QT, MC-QT).
    """

    def __init__(self, sentences: Sequence[str], parts: Sequence[Vectors]) -> None:
        """`sentences`: distinct, one for each row of the vectors of every model."""
        self.parts = parts
        self._row = {sentence: row for row, sentence in enumerate(sentences)}
        for part in parts:
            if not len(self._row) == len(sentences) == len(part):
                raise ValueError(
                    f"{part.folder}: {len(part)} vectors for {len(sentences)} sentences, {len(self._row)} of them "
                    "distinct"
                )

    def __call__(self, texts: Sequence[str]) -> Array:
        """Vectors (N, D); KeyError, quoting it, for a sentence that was not embedded."""
        rows = np.array([self._row[text] for text in texts], np.int64)
        return np.concatenate([part.take(rows) for part in self.parts], axis=1)

    def count_zeros(self) -> int:
        """How many of the sentences have the zero vector, for want of a known word; of several models the fewest."""
        return min(sum(int((~block.any(axis=1)).sum()) for _, block in vectors.blocks(8192)) for vectors in self.parts)


class VectorStore:
    """A folder of the vectors of several encoders: each embeds a set of sentences once."""

    def __init__(self, folder: Path, words: Path | None = None) -> None:
        """`words`: word vectors by which our encoders get embeddings of words that were not trained; None: none."""
        self.folder, self.words = folder, words

    def __call__(self, encoders: Sequence[str], sentences: Sequence[str], purpose: str) -> SentenceVectors:
        """The vectors of distinct sentences by encoders (folders or names), concatenated if there are several.

        `purpose` tells one set of sentences from another. Raises ValueError as `load_model`, `expand_words` and
        `embed_sentences` do.
        """
        models = [self.embed(self.load(name), name, sentences, purpose) for name in encoders]
        return SentenceVectors(sentences, [part for model in models for part in model.parts])

    def load(self, name: str) -> TextEncoder:
        """A model; one of ours with all words that it can have."""
        model = load_model(name)
        if self.words is not None and isinstance(model, Encoder):
            average = WordAverage(self.words)
            expand_words(model, average.vectors)
            model.identity = {**model.identity, "expanded": average.identity}
        return model

    def embed(self, model: TextEncoder, name: str, sentences: Sequence[str], purpose: str) -> SentenceVectors:
        """The vectors by a model that goes by this name."""
        return embed_sentences(model, sentences, self.folder / purpose / folder_name(name))


def folder_name(model: str) -> str:
    """A folder's name for the vectors of a model: short, readable, and unlike that of any other."""
    readable = re.sub(r"[^\w.-]+", "-", model)[-40:].strip("-")
    return f"{readable}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def embed_sentences(
    model: TextEncoder, sentences: Sequence[str], folder: Path, rows_per_shard: int = 8192
) -> SentenceVectors:
    """Embed distinct sentences into `folder`; vectors of the same model and sentences are kept.

    See `write_vectors`: after a kill the finished shards are kept, too. ValueError for no sentences, sentences that
    occur twice, and vectors that are not finite.
    """
    identity: dict[str, Any] = {"model": model.identity, "sentences": sentences_checksum(sentences)}

    def rows(chosen: range) -> Array:
        return model.embed(sentences[chosen.start : chosen.stop])

    folder.parent.mkdir(parents=True, exist_ok=True)
    vectors = write_vectors(folder, len(sentences), model.dimension, rows, identity, rows_per_shard)
    check_identity(vectors, identity)
    return SentenceVectors(sentences, [vectors])


def finite_vectors(vectors: Lookup, texts: Sequence[str]) -> Array:
    """The vectors of texts; ValueError, quoting a text, for one that is not finite."""
    rows = np.ascontiguousarray(vectors(texts))
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise ValueError(f"the vector of {texts[int(finite.argmin())]!r} is not finite: did the training diverge?")
    return rows


def sentences_checksum(sentences: Iterable[str]) -> str:
    """SHA-256 of sentences in their order."""
    checksum = hashlib.sha256()
    for sentence in sentences:
        text = sentence.encode()
        checksum.update(len(text).to_bytes(8, "little"))
        checksum.update(text)
    return checksum.hexdigest()
