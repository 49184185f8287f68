"""Load models by name or folder: encoders of this project, published models, and averages of word vectors.

All are a `TextEncoder`. Models for texts of one part get two parts joined by a space.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import nn
from transformers import PreTrainedTokenizerBase

from contexture.encoders.base import (
    MAX_BATCH_TEXTS,
    Array,
    Text,
    TextEncoder,
    max_batch_tokens,
    prepare_for_inference,
)
from contexture.encoders.config import Role
from contexture.encoders.files import load_encoder
from contexture.encoders.layout import Ints, group_by_length
from contexture.encoders.named import find_models, first_error_line, is_hub_reachable
from contexture.encoders.precision import embed_in_bf16
from contexture.encoders.quiet import quiet_loading
from contexture.encoders.saved import is_encoder
from contexture.folders import hash_file
from contexture.vocabulary.tokenizers import TOKENIZER_FILE, load_tokenizer
from contexture.vocabulary.words import VECTORS_FILE, load_word_vectors

#: Texts of one forward pass of a sentence-transformers model without a tokenizer of transformers.
MAX_UNMEASURED_TEXTS = 128
#: Names of a role's prompt in sentence-transformers; the first one that a model has is used.
PROMPTS: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage")}


class ConcatenatedModels:
    """The concatenated vectors of several models: combine-QT, MC-QT (Quick-Thoughts, sections 4.3 and 4.4)."""

    def __init__(self, models: Sequence[TextEncoder]) -> None:
        if not models:
            raise ValueError("no models to concatenate: give at least one")
        self.models = tuple(models)
        self.name = "+".join(model.name for model in models)
        self.dimension = sum(model.dimension for model in models)
        self.identity: dict[str, Any] = {"combined": [model.identity for model in models]}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Return vectors (N, D1 + D2 + …): those of all models, concatenated."""
        return np.concatenate([model.embed(texts, role) for model in self.models], axis=1)


class WordAverage:
    """The mean of the vectors of a text's words; 0 for a text without a word that has a vector."""

    def __init__(self, folder: Path) -> None:
        """Load a tokenizer of words and `word_vectors.npy` (V, W); raises ValueError, naming the file, if it fails."""
        self.tokenizer, _ = load_tokenizer(folder)
        self.vectors = load_word_vectors(folder)
        self.name = f"word average of {folder.name}"
        self.dimension = int(self.vectors.shape[1])
        checksum = hashlib.sha256()
        for path in (folder / VECTORS_FILE, folder / TOKENIZER_FILE):
            checksum.update(hash_file(path))
        self.identity: dict[str, Any] = {"word_average": checksum.hexdigest()}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Return the mean word vector (N, W) of each text, the same for every role."""
        encodings = self.tokenizer.encode_batch_fast(list(map(join_parts, texts)), add_special_tokens=False)
        ids = [np.asarray(encoding.ids, np.int64) for encoding in encodings]
        rows = np.repeat(np.arange(len(ids)), [len(text_ids) for text_ids in ids])
        words, columns = np.unique(np.concatenate([np.empty(0, np.int64), *ids]), return_inverse=True)
        vectors = np.asarray(self.vectors[words], np.float32)
        has_vector = np.flatnonzero((vectors != 0).any(axis=1)[columns])
        rows, columns = rows[has_vector], columns[has_vector]
        shares = 1 / np.bincount(rows, minlength=len(texts))[rows]
        weights = csr_array((shares.astype(np.float32), (rows, columns)), shape=(len(texts), len(words)))
        return np.asarray(weights @ vectors, np.float32)


class SentenceTransformersModel:
    """A model of sentence-transformers with its published length, prompts and normalisation.

    On a CPU, it embeds in bf16 if that is faster.
    """

    def __init__(self, name_or_folder: str) -> None:
        """Raise ValueError if the package or the model is missing, or its weights are not safetensors."""
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ValueError(
                f"{name_or_folder}: this model needs the package sentence-transformers ({error}); "
                "pip install sentence-transformers"
            ) from error
        local = Path(name_or_folder).exists() or not is_hub_reachable(name_or_folder)
        try:
            # Pickled weights are not loaded.
            with quiet_loading():
                self.model = SentenceTransformer(
                    name_or_folder, local_files_only=local, model_kwargs={"use_safetensors": True}
                )
        except Exception as error:  # of any type, from any library
            raise ValueError(
                f"{name_or_folder}: sentence-transformers cannot load this model ({first_error_line(error)}). "
                "Give a folder with safetensors weights or a name on the Hugging Face hub"
            ) from error
        self.name = name_or_folder.rstrip("/").rsplit("/", 1)[-1]
        self.dimension = int(self._encode(["a"]).shape[1])
        self.identity: dict[str, Any] = {"sentence_transformers": _model_checksum(self.model)}

    def embed(self, texts: Sequence[Text], role: Role | None = None) -> Array:
        """Return the model's vectors (N, D) of texts, with the role's prompt if the model has one."""
        if not len(texts):
            return np.empty((0, self.dimension), np.float32)
        prompts = (name for name in PROMPTS[role] if name in self.model.prompts) if role else iter(())
        return self._encode(list(map(join_parts, texts)), next(prompts, None))

    def _encode(self, texts: list[str], prompt: str | None = None) -> Array:
        """Return vectors (N, D) of texts, with the model's prompt of this name."""
        chunks = [
            start + rows
            for start in range(0, len(texts), MAX_BATCH_TEXTS)
            for rows in self._chunk(texts[start : start + MAX_BATCH_TEXTS])
        ]
        with embed_in_bf16(self.model.device):
            vectors = [
                self.model.encode(
                    [texts[row] for row in rows], prompt_name=prompt, batch_size=len(rows), show_progress_bar=False
                )
                for rows in chunks
            ]
        return np.asarray(np.concatenate(vectors)[np.concatenate(chunks).argsort()], np.float32)

    def _chunk(self, texts: list[str]) -> list[Ints]:
        """Return the rows of texts that are computed together: of similar length, if the tokenizer measures lengths."""
        tokenizer = self.model.tokenizer
        if not isinstance(tokenizer, PreTrainedTokenizerBase):
            return np.split(np.arange(len(texts)), range(MAX_UNMEASURED_TEXTS, len(texts), MAX_UNMEASURED_TEXTS))
        ids = tokenizer(texts, truncation=True, max_length=self.model.max_seq_length)["input_ids"]
        return group_by_length(np.array([len(row) for row in ids]), max_batch_tokens(self.model.device))


def load_model(name_or_folder: str | Path) -> TextEncoder:
    """Load a model from a folder, or by a name that sentence-transformers knows; see `find_models`.

    A folder with `encoder.json` is an encoder of this project, which is moved to the GPU if there is one; one with
    `word_vectors.npy` is a `WordAverage`; others are models of sentence-transformers. Raises ValueError, naming the
    model or the file, if it cannot be loaded.
    """
    return load_models([str(name_or_folder)])


def load_models(names: Sequence[str]) -> TextEncoder:
    """Load models by folder or name, as `load_model`; several become one `ConcatenatedModels`."""
    models = [_load_single_model(model) for name in names for model in find_models(name)]
    return models[0] if len(models) == 1 else ConcatenatedModels(models)


def _load_single_model(name: str) -> TextEncoder:
    """Load an encoder of this project, a `WordAverage`, or a model of sentence-transformers."""
    folder = Path(name)
    if is_encoder(folder):
        return prepare_for_inference(load_encoder(folder))
    return WordAverage(folder) if (folder / VECTORS_FILE).exists() else SentenceTransformersModel(name)


def join_parts(text: Text) -> str:
    """Return a text as one string, with its parts joined by a space."""
    return text if isinstance(text, str) else " ".join(text)


def _model_checksum(model: Any) -> str:
    """Return the SHA-256 of a sentence-transformers model: weights, modules with their settings, and tokenizer."""
    settings = [repr(model), model.max_seq_length, model.prompts, model.default_prompt_name]
    return hash_model(json.dumps(settings, default=str), model, model.tokenizer)


def hash_model(settings: str, model: nn.Module, tokenizer: Any) -> str:
    """Return the SHA-256 of settings, tokenizer (of transformers) and weights of a model."""
    checksum = hashlib.sha256(settings.encode())
    tokenizer = getattr(tokenizer, "backend_tokenizer", None)
    checksum.update(b"" if tokenizer is None else tokenizer.to_str().encode())
    for name, tensor in sorted(model.state_dict().items()):
        checksum.update(name.encode())
        checksum.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return checksum.hexdigest()
