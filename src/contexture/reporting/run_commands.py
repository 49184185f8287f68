"""Input files in the commands of runs: paths without the folders of a machine, and back."""

import glob
import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from contexture.demo.config import DEMO
from contexture.folders import expand_home
from contexture.run_parameters import quote_parameter, split_parameters

#: In saved commands: any folder with data.
DATA_FOLDER = "DATA"
#: Parts of a path that saved commands keep.
KEPT_PARTS = 2
#: Starts of absolute paths.
_ABSOLUTE = ("/", "~/", "file:/")
_HOME = re.compile(r"(~|/home/[^/]+|/Users/[^/]+|/root)(?=/|$)")
#: Last parts of keys below `input` that are no paths. Commands of older files need them: they have names only.
_OTHER_KEYS = ("format", "candidates", "source", "lang", "languages", "learn_from")

#: Changes the string at a dotted key.
Change = Callable[[str, str], str]


def hide_folders(command: str) -> str:
    """Return a command with `DATA` instead of the folders of absolute paths, of which two parts remain."""
    return _map_strings(command, lambda key, text: hide_folder(text) if text.startswith(_ABSOLUTE) else text)


def find_inputs(command: str, folders: Collection[Path]) -> str:
    """Return a command with the paths of its inputs, which are below `folders` or are one of them.

    Raises ValueError that names all missing and ambiguous inputs.
    """
    names = dict(_list_inputs(command))
    paths = _find_paths(set(names.values()), folders)
    return _map_strings(command, lambda key, text: paths[names[key, text]] if (key, text) in names else text)


def get_workspace(command: str) -> str | None:
    """Return the workspace that a command sets; None without one."""
    workspaces: list[str] = []

    def collect(key: str, text: str) -> str:
        workspaces.extend([text] if key == "workspace" else [])
        return text

    _map_strings(command, collect)
    return workspaces[0] if workspaces else None


def _list_inputs(command: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield key and text of each input of a saved command, and the end of its path that is known."""
    strings: list[tuple[str, str]] = []

    def collect(key: str, text: str) -> str:
        strings.append((key, text))
        return text

    _map_strings(command, collect)
    prefix = f"{DATA_FOLDER}/"
    is_older = not any(text.startswith(prefix) for _, text in strings)
    for key, text in strings:
        parts = key.split(".")
        if text.startswith(prefix) or (is_older and "input" in parts and parts[-1] not in _OTHER_KEYS and text != DEMO):
            yield (key, text), text.removeprefix(prefix)


def _find_paths(names: Iterable[str], folders: Collection[Path]) -> dict[str, str]:
    """Return name → absolute path; ValueError for names without or with several paths."""
    roots = [Path(os.path.normpath(expand_home(folder).absolute())) for folder in folders]
    if missing := [str(folder) for folder, root in zip(folders, roots, strict=True) if not root.exists()]:
        raise ValueError(f"there is no {', '.join(missing)}")
    patterns = {name: Path(name).parent if glob.has_magic(name) else Path(name) for name in names}
    known = _list_paths(roots, {path.name for path in patterns.values()})
    results, faults = dict[str, str](), list[str]()
    for name, path in sorted(patterns.items()):
        matches = [match for match in known if match.parts[-len(path.parts) :] == path.parts]
        matches = [match for match in matches if match in roots] or matches
        if len(matches) == 1:
            results[name] = str(matches[0] / Path(name).relative_to(path))
        else:
            where = ", ".join(map(str, matches))
            faults.append(f"{name} is ambiguous: {where}" if matches else f"{name} is missing")
    if faults:
        raise ValueError(f"{'; '.join(faults)}. Name each file, or a folder that has one file of this name")
    return results


def _list_paths(roots: Iterable[Path], names: Collection[str]) -> list[Path]:
    """Return the files and folders with one of these names: the roots, and all below them but hidden folders."""
    paths: dict[Path, None] = {root: None for root in roots if root.name in names}
    for root in roots:
        for folder, subfolders, files in os.walk(root):
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
            paths.update({Path(folder, name): None for name in (*subfolders, *files) if name in names})
    return list(paths)


def hide_folder(path: str) -> str:
    """Return the last parts of an absolute path below `DATA`, without the name of a user."""
    parts = [part for part in _HOME.sub("", path.removeprefix("file:"), count=1).split("/") if part]
    return "/".join([DATA_FOLDER, *parts[-KEPT_PARTS:]])


def _map_strings(command: str, change: Change) -> str:
    """Return a command with all strings in its parameters changed; ValueError if it is not one command."""
    words = shlex.split(command)
    if operators := sorted({"&&", "||", ";", "|"} & {*words}):
        raise ValueError(f"{command!r} has {operators[0]}: give one command")
    option = "--params="
    for position, word in enumerate(words):
        if word.startswith(option):
            words[position] = option + _map_parameters(word.removeprefix(option), change)
        elif position and words[position - 1] == "--params":
            words[position] = _map_parameters(word, change)
    return shlex.join(words)


def _map_parameters(parameters: str, change: Change) -> str:
    """Return `key=value,…` with all strings of the values changed."""
    return ",".join(_map_parameter(text, change) for text in split_parameters(parameters))


def _map_parameter(parameter: str, change: Change) -> str:
    """Return `key=value` with all strings of the value changed; unchanged values keep their form."""
    key, equals, text = parameter.partition("=")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return parameter
    changed = _map_value(key, value, change)
    return parameter if changed == value else f"{key}{equals}{quote_parameter(changed)}"


def _map_value(key: str, value: Any, change: Change) -> Any:
    """Return a value with all strings changed."""
    if isinstance(value, str):
        return change(key, value)
    if isinstance(value, list):
        return [_map_value(key, item, change) for item in value]
    if isinstance(value, Mapping):
        return {name: _map_value(f"{key}.{name}", item, change) for name, item in value.items()}
    return value
