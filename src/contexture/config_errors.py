"""Errors of the configuration as text: the file and the key, and what is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any, get_args

import yaml
from pydantic import ValidationError

from contexture.encoders.config import AnyEncoderConfig
from contexture.messages import explain_unknown, suggest
from contexture.objectives.config import OBJECTIVES
from contexture.strict import list_fields, list_kinds
from contexture.systems.config import FORMER_KEYS
from contexture.systems.registry import SYSTEMS
from contexture.tasks.registry import TASKS

#: Values of `kind` of an encoder.
ENCODER_KINDS = frozenset(kind for option in get_args(get_args(AnyEncoderConfig)[0]) for kind in list_kinds(option))
#: An error shows at most so much of a wrong value.
MAX_INPUT_CHARS = 60
#: Former names of keys → the present ones.
RENAMED_KEYS = FORMER_KEYS | {"own_text": "adapt", "tour": "demo_systems"}
RENAMED_KEYS |= {spec.former_key: name for name, spec in TASKS.items() if spec.former_key}
# The loader of LibYAML, which wheels of PyYAML have, is much faster.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class ConfigurationError(ValueError):
    """A key that does not exist or a value that cannot be used; the message names file and key."""


def describe_errors(
    error: ValidationError, parameters: type, folders: list[Path], runtime: Mapping[str, Any]
) -> Iterator[str]:
    """Yield one line for each error, with file and key.

    Errors of a system are not repeated for `demo_systems`. `parameters` is the type of all parameters. For the other
    arguments see `config.check_parameters`.
    """
    known = set[tuple[str, ...]]()
    for details in sorted(error.errors(), key=lambda details: details["loc"][:1] == ("demo_systems",)):
        key = [str(part) for part in details["loc"]]
        key = key[1:] if key[:1] in (["systems"], ["sources"]) else key
        if key[:1] == ["demo_systems"] and key[2:3] == ["system"]:
            if (key[1], *key[3:]) in known:
                continue
            key[2] = "changes"
        known.add(tuple(key))
        key = drop_kind(key)
        message = details["msg"].removeprefix("Value error, ")
        if details["type"] == "unexpected_keyword_argument":
            message = explain_key(parameters, details["loc"])
        elif details["type"] in ("missing", "missing_argument"):
            message = "missing"
        elif details["type"] == "union_tag_invalid":
            key.append("kind")
            message = explain_unknown("kind", [details["ctx"]["tag"]], ENCODER_KINDS)
        else:
            if details["type"] in ("dataclass_type", "dict_type"):
                message = "Input should be a mapping of keys to values"
            if isinstance(details["input"], str | int | float | list):
                message += f" (is {shorten(repr(details['input']), MAX_INPUT_CHARS)})"
        yield ": ".join(filter(None, [find_source(key, folders, runtime), ".".join(key), message]))


def drop_kind(key: list[str]) -> list[str]:
    """Return a key without the kind of an encoder, which pydantic adds to it."""
    return [
        part
        for i, part in enumerate(key)
        if not (part in ENCODER_KINDS and ("encoders" in key[i - 2 : i - 1] or "encoder" in key[i - 1 : i]))
    ]


def explain_key(parameters: type, location: Sequence[str | int]) -> str:
    """Return a message about an unknown key, with its new name or the closest known one."""
    *around, key = map(str, location)
    if key in RENAMED_KEYS:
        return f"renamed to {RENAMED_KEYS[key]}"
    known = set(list_fields(parameters, around))
    if around[-2:-1] == ["objectives"] and around[-1] in OBJECTIVES:
        known = set(list_fields(OBJECTIVES[around[-1]], []))
    if not around:
        known = known - {"sources", "systems"} | {*SYSTEMS, *TASKS}
    elif around[0] == "demo_systems" and len(around) == 2:
        known -= {"system"}
    return f"no such parameter{suggest(key, known) if known else ''}"


def find_source(key: list[str], folders: list[Path], runtime: Mapping[str, Any]) -> str:
    """Return the file, or --params, that sets a key or else the nearest key around it."""
    files = [
        file
        for folder in folders
        for file in sorted(folder.glob("parameters*/**/*.yml")) + sorted(folder.glob("parameters*.yml"))
    ]
    trees = {file: yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER) for file in files}
    for depth in range(len(key), 0, -1):
        if _has_key(runtime, key[:depth]):
            return "--params"
        for file, tree in trees.items():
            if _has_key(tree, key[:depth]):
                return shorten_path(file)
    return shorten_path(folders[-1] / "parameters")


def shorten_path(path: Path) -> str:
    """Return a path relative to the working folder if it is inside."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _has_key(tree: Any, key: list[str]) -> bool:
    """Return whether nested mappings have a value under these keys, from the outermost to the innermost."""
    for part in key:
        if not isinstance(tree, Mapping) or part not in tree:
            return False
        tree = tree[part]
    return True
