"""Node functions with some arguments fixed, and groups of inputs whose number depends on the configuration."""

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any


def fixed(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return `function` with its first arguments fixed, under its name, which Kedro logs."""
    return update_wrapper(partial(function, *arguments), function)


def name_group(group: str, datasets: Mapping[str, str]) -> dict[str, str]:
    """Return the inputs of a node under names `<group>/<key>`: name → dataset."""
    return {f"{group}/{key}": dataset for key, dataset in datasets.items()}


def select_group(inputs: Mapping[str, Any], group: str) -> dict[str, Any]:
    """Return the inputs of a group that `name_group` made, by key."""
    return {name.removeprefix(f"{group}/"): value for name, value in inputs.items() if name.startswith(f"{group}/")}
