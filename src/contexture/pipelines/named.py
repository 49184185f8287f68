"""Node functions with some arguments fixed, and groups of inputs whose number depends on the configuration."""

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any


def fixed(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """`partial` that keeps the function's name, which Kedro shows in its log."""
    return update_wrapper(partial(function, *arguments), function)


def name_group(group: str, datasets: Mapping[str, str]) -> dict[str, str]:
    """Inputs of a node called `<group>/<key>`."""
    return {f"{group}/{key}": dataset for key, dataset in datasets.items()}


def select_group(inputs: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Those of a node's inputs that `name_group` named, by their keys."""
    return {name.removeprefix(f"{group}/"): value for name, value in inputs.items() if name.startswith(f"{group}/")}
