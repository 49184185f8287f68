"""Read the YAML tables of this package."""

from importlib import resources
from typing import Any

import yaml

_FOLDER = resources.files("contexture.text")


def read_text(name: str) -> str:
    """Return the content of a file of this package."""
    return (_FOLDER / name).read_text("utf-8")


def read_yaml(name: str) -> dict[str, Any]:
    """Return the content of a YAML file of this package."""
    table: dict[str, Any] = yaml.safe_load(read_text(name))
    return table
