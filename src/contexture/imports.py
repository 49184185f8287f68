"""Classes and functions by where they are, so that settings can name them without loading them."""

import importlib
from typing import Any


def resolve(target: str) -> Any:
    """The class or function at `module:name`."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)
