"""Read the settings and the checksum of a saved encoder without loading torch."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from contexture.encoders.config import AnyEncoderConfig, EncoderConfig, Lengths

SETTINGS_FILE, WEIGHTS_FILE = "encoder.json", "model.safetensors"
#: Model card.
CARD_FILE = "README.md"

#: Name of an encoder's folder, or of the folder of its fine-tuned models.
_SEED_DIR = re.compile(r"seed-\d+")


@dataclass(frozen=True)
class SavedSettings:
    """The settings of a saved encoder; `weights` is the checksum of its weights and tokenizer."""

    config: EncoderConfig
    lengths: Lengths
    weights: str


def read_settings(folder: Path) -> SavedSettings:
    """Read the settings of a saved encoder; raises OSError, KeyError, TypeError or ValueError if they are damaged."""
    settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
    config: EncoderConfig = TypeAdapter(AnyEncoderConfig).validate_python(settings["encoder"])
    return SavedSettings(config, TypeAdapter(Lengths).validate_python(settings["lengths"]), settings["weights"])


def is_encoder(folder: Path) -> bool:
    """Return whether an encoder was saved in a folder."""
    return (folder / SETTINGS_FILE).exists()


def seed_dir(folder: Path, seed: int) -> Path:
    """Return `folder` if an encoder was saved in it, otherwise its subfolder `seed-<n>`."""
    return folder if is_encoder(folder) else folder / f"seed-{seed}"


def model_name(folder: Path) -> str:
    """Return a model's name from its path: `<system>/<variant>`, with `/seed-<n>` unless the seed is 0.

    A fine-tuned model is `<system>/<variant>/<task>/<option>`; outside `data/` the name is that of the folder.
    """
    parts = folder.resolve().parts
    match parts[-6:]:
        case [*_, system, "pretrained", run, seed] if _SEED_DIR.fullmatch(seed):
            names = [system, run]
        case [system, "finetuned", task, variant, seed, option] if _SEED_DIR.fullmatch(seed):
            names = [system, variant, task, option]
        case _:
            return parts[-1]
    return "/".join(names if seed == "seed-0" else [*names, seed])


def encoder_checksum(folder: Path) -> str:
    """Return the SHA-256 of an encoder's settings, which contain the checksum of its weights."""
    return hashlib.sha256((folder / SETTINGS_FILE).read_bytes()).hexdigest()


def damaged_error(folder: Path, error: Exception) -> ValueError:
    """Return the ValueError to raise if the encoder in `folder` cannot be loaded because of `error`."""
    return ValueError(f"{folder} holds no whole encoder ({error}); train it again")
