"""Import by name, so that settings can name classes and functions without loading them."""

import importlib
from typing import Any


def resolve(target: str) -> Any:
    """Import and return the class or function `module:name`."""
    module, name = target.split(":")
    return getattr(importlib.import_module(module), name)
