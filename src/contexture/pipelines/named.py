"""Node functions with some arguments fixed."""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any


def fixed(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """`partial` that keeps the function's name, which Kedro shows in its log."""
    return update_wrapper(partial(function, *arguments), function)
