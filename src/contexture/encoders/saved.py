"""What the folder of an encoder tells without torch: whether it is one, its settings, and by what vectors know it."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from contexture.encoders.config import AnyEncoderConfig, EncoderConfig, Lengths

SETTINGS, WEIGHTS = "encoder.json", "model.safetensors"

#: The last folder of an encoder, or that of its fine-tuned models.
_SEED = re.compile(r"seed-\d+")


@dataclass(frozen=True)
class Saved:
    """The settings of an encoder; `weights` is the checksum of its weights and its tokenizer."""

    config: EncoderConfig
    lengths: Lengths
    weights: str


def saved(folder: Path) -> Saved:
    """The settings in an encoder's folder.

    Raises OSError, KeyError, TypeError or ValueError where there are none, or damaged ones.
    """
    found = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    config: EncoderConfig = TypeAdapter(AnyEncoderConfig).validate_python(found["encoder"])
    return Saved(config, TypeAdapter(Lengths).validate_python(found["lengths"]), found["weights"])


def is_encoder(folder: Path) -> bool:
    """Whether an encoder was saved in a folder."""
    return (folder / SETTINGS).exists()


def of_seed(place: Path, seed: int) -> Path:
    """The folder of an encoder, where `place` is one, or holds one for each seed in folders `seed-<n>`."""
    return place if is_encoder(place) else place / f"seed-{seed}"


def model_name(folder: Path) -> str:
    """What the model in a folder is called: `<system>/<variant>`, by the place where a stage put it.

    A fine-tuned one is `<system>/<variant>/<task>/<option>`; a seed other than 0 is told behind it. Anywhere else the
    folder's own name is the model's.
    """
    place = folder.resolve().parts
    match place[-6:]:
        case [*_, system, "pretrained", run, seed] if _SEED.fullmatch(seed):
            found = [system, run]
        case [system, "finetuned", task, variant, seed, option] if _SEED.fullmatch(seed):
            found = [system, variant, task, option]
        case _:
            return place[-1]
    return "/".join(found if seed == "seed-0" else [*found, seed])


def encoder_checksum(folder: Path) -> str:
    """SHA-256 of an encoder's settings, which hold that of its weights: by it vectors know what made them."""
    return hashlib.sha256((folder / SETTINGS).read_bytes()).hexdigest()


def damaged(folder: Path, error: Exception) -> ValueError:
    """What to raise where an encoder cannot be opened."""
    return ValueError(f"{folder} holds no whole encoder ({error}); train it again")
