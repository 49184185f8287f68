"""Sentence encoders on disk: settings, weights (safetensors) and the tokenizer of their words."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model, save_model

from contexture.encoders.config import SentenceEncoderConfig, SentenceLayoutConfig
from contexture.encoders.sentence_encoders import SentenceEncoders, build_sentence_encoders
from contexture.vocabulary.tokenizers import copy_tokenizer, load_tokenizer

SETTINGS = "sentence_encoder.json"
WEIGHTS = "model.safetensors"


def save_sentence_encoders(encoders: SentenceEncoders, tokenizer: Path, folder: Path) -> None:
    """Write weights, settings and the tokenizer."""
    settings = {
        "encoder": asdict(encoders.config),
        "layout": asdict(encoders.layout),
        "pair": encoders.g is not None,
    }
    folder.mkdir(parents=True, exist_ok=True)
    copy_tokenizer(tokenizer, folder)
    save_model(encoders, str(folder / WEIGHTS))
    (folder / SETTINGS).write_text(json.dumps(settings, indent=1), encoding="utf-8")


def load_sentence_encoders(folder: Path) -> SentenceEncoders:
    """Encoders that `save_sentence_encoders` wrote; ValueError, naming the folder, where one is missing or damaged."""
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        config: Any = TypeAdapter(SentenceEncoderConfig).validate_python(settings["encoder"])
        layout = TypeAdapter(SentenceLayoutConfig).validate_python(settings["layout"])
        words = _words(folder / WEIGHTS)
        encoders = build_sentence_encoders(
            config, layout, load_tokenizer(folder)[1], len(words), words.numpy(), settings["pair"]
        )
        load_model(encoders, str(folder / WEIGHTS))
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"{folder} holds no whole sentence encoders ({error}); train them again") from error
    return encoders


def is_sentence_encoders(folder: Path) -> bool:
    """Whether sentence encoders were saved in a folder."""
    return (folder / SETTINGS).exists()


def _words(weights: Path) -> torch.Tensor:
    """f's embeddings of words, whose number is that of the table to build."""
    with safe_open(str(weights), "pt") as file:
        tables = (name for name in sorted(file.keys()) if name.endswith(("words.weight", "word_embeddings.weight")))
        found: torch.Tensor = file.get_tensor(next(tables))
    return found
