"""Embed questions with a static encoder in NumPy; loading torch would take longer than a search."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from contexture.encoders.config import StaticConfig
from contexture.encoders.saved import WEIGHTS_FILE, SavedSettings, damaged_error
from contexture.vocabulary.vocabulary import Vocabulary


class StaticQueryEncoder:
    """The role `query` of a static encoder; reads only the embeddings of the questions' tokens."""

    def __init__(self, folder: Path, settings: SavedSettings) -> None:
        """Open the encoder in `folder`, which has these settings; raises ValueError for missing or damaged files."""
        assert isinstance(settings.config, StaticConfig)
        network_dir = folder if settings.config.shared else folder / "query"
        try:
            self.vocabulary = Vocabulary.load(folder)
            file: Any = safe_open(str(network_dir / WEIGHTS_FILE), "np")
            self.words = file.get_slice("words.weight")
            self.weights = file.get_tensor("token_weights") if settings.config.has_token_weights else None
        except (OSError, ValueError, SafetensorError) as error:
            raise damaged_error(folder, error) from error
        self.limit, self.norm = settings.lengths.query, settings.config.norm
        self.known, self.size = self.words.get_shape()

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return vectors (N, D) of questions, equal to the encoder's up to rounding; 0 for a text without a token."""
        vectors = np.zeros((len(texts), self.size), np.float32)
        encodings = self.vocabulary.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        for vector, encoding in zip(vectors, encodings, strict=True):
            ids = [token if token < self.known else self.vocabulary.tokens.unk for token in encoding.ids[: self.limit]]
            if not ids:
                continue
            rows = np.concatenate([self.words[token : token + 1] for token in ids]).astype(np.float32)
            weights = np.ones(len(ids), np.float32) if self.weights is None else self.weights[ids]
            mean = weights @ rows / max(weights.sum(), 1e-6)
            vector[:] = mean if self.norm is None else self.norm * mean / max(float(np.linalg.norm(mean)), 1e-12)
        return vectors
