"""Anything that turns sentences into vectors, under one protocol: encoders of this project, of sentence-transformers, …

A model gives the same text the same vector whatever is beside it (but for rounding), and has an identity, by which
vectors that were stored know what made them.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

from contexture.encoders import sentence_encoder_files
from contexture.encoders.embedding import TOKENS_AT_ONCE, TOKENS_AT_ONCE_ON_CPU, embed
from contexture.encoders.layout import select
from contexture.encoders.sentence_encoder_files import is_sentence_encoders, load_sentence_encoders
from contexture.encoders.tower_files import checksum, is_towers, load_towers
from contexture.tasks.retrieval.data import plain_texts
from contexture.tasks.retrieval.model import on_device
from contexture.tasks.sentences.vectors import Array, SentenceModel
from contexture.vocabulary.tokenizers import TOKENIZER_FILE, load_tokenizer
from contexture.vocabulary.words import VECTORS_FILE, load_word_vectors

#: Sentences of one forward pass of a recurrent encoder or one of sentence-transformers.
SENTENCES_AT_ONCE = 128


class Combined:
    """Several models' vectors one behind the other: combine-QT, MC-QT (Quick-Thoughts, sections 4.3 and 4.4)."""

    def __init__(self, models: Sequence[SentenceModel]) -> None:
        if not models:
            raise ValueError("nothing to combine: give one model or more")
        self.models = tuple(models)
        self.name = "+".join(model.name for model in models)
        self.dimension = sum(model.dimension for model in models)
        self.identity: dict[str, Any] = {"combined": [model.identity for model in models]}

    def __call__(self, texts: Sequence[str]) -> Array:
        """Vectors (N, D1 + D2 + …)."""
        return np.concatenate([model(texts) for model in self.models], axis=1)


class WordAverage:
    """The mean of the vectors of a sentence's words; words without a vector do not count, none at all make it zero."""

    def __init__(self, folder: Path) -> None:
        """`folder`: a tokenizer of words and `word_vectors.npy`, (V, W), row = id, zero where a word has no vector.

        Raises ValueError, naming the file, where that is missing, damaged or of another vocabulary.
        """
        self.tokenizer, _ = load_tokenizer(folder)
        self.vectors = load_word_vectors(folder)
        self.name = f"word average of {folder.name}"
        self.dimension = int(self.vectors.shape[1])
        self.identity: dict[str, Any] = {
            "word_average": _files_checksum(folder / VECTORS_FILE, folder / TOKENIZER_FILE)
        }

    def __call__(self, texts: Sequence[str]) -> Array:
        """Vectors (N, W)."""
        sentences = plain_texts(texts, self.tokenizer)
        rows = np.repeat(np.arange(len(texts)), sentences.lengths[:, 0])
        words, place = np.unique(sentences.tokens, return_inverse=True)
        vectors = np.asarray(self.vectors[words], np.float32)
        has_vector = np.flatnonzero((vectors != 0).any(axis=1)[place])
        rows, place = rows[has_vector], place[has_vector]
        parts = 1 / np.bincount(rows, minlength=len(texts))[rows]
        weights = csr_array((parts.astype(np.float32), (rows, place)), shape=(len(texts), len(words)))
        return np.asarray(weights @ vectors, np.float32)


class TowerModel:
    """The document tower of two towers that were trained."""

    def __init__(self, folder: Path) -> None:
        """Raises ValueError, naming the folder, where something is missing or damaged."""
        self.towers = on_device(load_towers(folder))
        self.tokenizer, tokens = load_tokenizer(folder)
        self.specials = self.towers.specials(tokens)
        self.name = folder.resolve().name
        self.dimension = self.towers.config.embedding_size
        self.identity: dict[str, Any] = {"towers": checksum(folder)}

    def __call__(self, texts: Sequence[str]) -> Array:
        """Vectors (N, D)."""
        sentences = plain_texts(texts, self.tokenizer)
        return embed(self.towers.document, sentences, self.specials, self.towers.layout.document_tokens)


class EncoderModel:
    """Encoders of words, as Quick-Thoughts and Skip-Thought train them: [f; g], or f alone."""

    def __init__(self, folder: Path, f_alone: bool = False, unit: bool = True) -> None:
        """`unit`: f's and g's vectors have length 1. Raises ValueError, naming the folder, where it is damaged."""
        self.unit = unit
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.encoders = load_sentence_encoders(folder).to(self.device).eval()
        if f_alone:
            self.encoders.g = None
        self.tokenizer, self.tokens = load_tokenizer(folder)
        self.name = folder.resolve().name
        self.dimension = self.encoders.size
        files = (sentence_encoder_files.SETTINGS, sentence_encoder_files.WEIGHTS, TOKENIZER_FILE)
        self.identity: dict[str, Any] = {
            "sentence_encoders": _files_checksum(*(folder / file for file in files)),
            "encoders": len(self.encoders.encoders),
            "unit": unit,
        }

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> Array:
        """Vectors (N, D), zero for a text without a word; sentences of like length are computed together."""
        sentences = plain_texts(texts, self.tokenizer)
        lengths = sentences.lengths[:, 0]
        tokens_at_once = TOKENS_AT_ONCE_ON_CPU if self.device == "cpu" else TOKENS_AT_ONCE
        order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(order), SENTENCES_AT_ONCE):
            rows = order[start : start + SENTENCES_AT_ONCE]
            batch = self.encoders.batch(select(sentences, rows), self.tokens, tokens_at_once)
            chunks = [{name: part.to(self.device) for name, part in chunk.items()} for chunk in batch["sentences"]]
            there = batch | {"sentences": chunks, "rows": batch["rows"].to(self.device)}
            vectors[rows] = self.encoders.test_vectors(there, self.unit).cpu().numpy()
        return vectors


class SentenceTransformersModel:
    """A model of sentence-transformers, as it was published: its own length, prompt and normalisation, none added."""

    def __init__(self, name_or_folder: str) -> None:
        """Raises ValueError where the package or the model is not there, or its weights are not safetensors."""
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise ValueError(
                f"{name_or_folder}: models of sentence-transformers need that package ({error}); "
                "pip install sentence-transformers"
            ) from error
        try:
            # Weights that would have to be unpickled are refused.
            self.model = SentenceTransformer(name_or_folder, model_kwargs={"use_safetensors": True})
        except Exception as error:  # the library and those under it raise whatever they meet
            raise ValueError(
                f"{name_or_folder}: sentence-transformers cannot load this model ({_first_line(error)}). Give a folder "
                "that holds one, with safetensors weights, or a name on the Hugging Face hub; without a network "
                "(HF_HUB_OFFLINE=1) only names that were downloaded before can be loaded"
            ) from error
        self.name = name_or_folder.rstrip("/").rsplit("/", 1)[-1]
        self.dimension = int(self._encode(["a"]).shape[1])
        self.identity: dict[str, Any] = {"sentence_transformers": _model_checksum(self.model)}

    def __call__(self, texts: Sequence[str]) -> Array:
        """Vectors (N, D); the library computes texts of like length together."""
        return self._encode(texts) if len(texts) else np.empty((0, self.dimension), np.float32)

    def _encode(self, texts: Sequence[str]) -> Array:
        found = self.model.encode(list(texts), batch_size=SENTENCES_AT_ONCE, show_progress_bar=False)
        return np.asarray(found, np.float32)


def load_model(name_or_folder: str) -> SentenceModel:
    """The model that a folder holds, told by its files, or that sentence-transformers knows by a name.

    `sentence_encoder.json`: encoders of words; `towers.json`: two towers; `word_vectors.npy`: the average of words'
    vectors; everything else is for sentence-transformers. Several, joined by `+`, are combined.

    Raises ValueError, naming the model or the file, where it cannot be loaded.
    """
    folder = Path(name_or_folder)
    if not folder.exists() and "+" in name_or_folder:
        return Combined([load_model(part) for part in name_or_folder.split("+")])
    if is_sentence_encoders(folder):
        return EncoderModel(folder)
    if is_towers(folder):
        return TowerModel(folder)
    if (folder / VECTORS_FILE).exists():
        return WordAverage(folder)
    if not folder.exists() and _is_path(name_or_folder):
        raise ValueError(f"{name_or_folder}: there is no such folder, and no model is named so")
    return SentenceTransformersModel(name_or_folder)


def _is_path(name: str) -> bool:
    """Whether this cannot be a model's name on the hub: an owner and a name, or a name."""
    return not name or name.startswith(("/", ".", "~")) or name.endswith("/") or name.count("/") > 1


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _files_checksum(*files: Path) -> str:
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def _model_checksum(model: Any) -> str:
    """SHA-256 of the weights, of the modules with their settings, and of what cuts and cleans the texts."""
    settings = [repr(model), model.max_seq_length, model.prompts, model.default_prompt_name]
    found = hashlib.sha256(json.dumps(settings, default=str).encode())
    tokenizer = getattr(model.tokenizer, "backend_tokenizer", None)
    found.update(b"" if tokenizer is None else tokenizer.to_str().encode())
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()
