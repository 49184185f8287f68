"""Read the folder of an encoder without torch: whether it is one, its settings, and its checksum."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from contexture.encoders.config import AnyEncoderConfig, EncoderConfig, Lengths

SETTINGS_FILE, WEIGHTS_FILE = "encoder.json", "model.safetensors"

#: The last folder of an encoder, or that of its fine-tuned models.
_SEED_DIR = re.compile(r"seed-\d+")


@dataclass(frozen=True)
class SavedSettings:
    """The settings of an encoder; `weights` is the checksum of its weights and its tokenizer."""

    config: EncoderConfig
    lengths: Lengths
    weights: str


def read_settings(folder: Path) -> SavedSettings:
    """The settings in an encoder's folder; OSError, KeyError, TypeError or ValueError if they are damaged."""
    settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
    config: EncoderConfig = TypeAdapter(AnyEncoderConfig).validate_python(settings["encoder"])
    return SavedSettings(config, TypeAdapter(Lengths).validate_python(settings["lengths"]), settings["weights"])


def is_encoder(folder: Path) -> bool:
    """Whether an encoder was saved in a folder."""
    return (folder / SETTINGS_FILE).exists()


def seed_dir(folder: Path, seed: int) -> Path:
    """`folder` if it is an encoder's, otherwise its folder `seed-<n>`."""
    return folder if is_encoder(folder) else folder / f"seed-{seed}"


def model_name(folder: Path) -> str:
    """The name of the model in a folder of a stage: `<system>/<variant>`, and `/seed-<n>` unless that is 0.

    A fine-tuned one is `<system>/<variant>/<task>/<option>`. Anywhere else it is the folder's own name.
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
    """SHA-256 of an encoder's settings, which hold that of its weights; stored vectors note it."""
    return hashlib.sha256((folder / SETTINGS_FILE).read_bytes()).hexdigest()


def damaged_error(folder: Path, error: Exception) -> ValueError:
    """The error of an encoder that cannot be opened."""
    return ValueError(f"{folder} holds no whole encoder ({error}); train it again")
