"""Folders and files that appear whole or not at all."""

import json
import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

LOG = logging.getLogger(__name__)
UNFINISHED = ".unfinished"
OLD = ".old"
SET_ASIDE = ".set-aside"
IDENTITY = "identity.json"


@contextmanager
def work_folder(folder: Path, identity: dict[str, Any] | None = None) -> Iterator[Path]:
    """`<folder>.unfinished` to work in; renamed to `folder` when the block ends without an error.

    What a killed run left there is thrown away, or, if the work has an `identity`, kept to be resumed. What was begun
    with another one is set aside, and the log names what differs. Work that was refused before it began has nothing
    to resume.
    """
    restore_replaced(folder)
    work = folder.with_name(folder.name + UNFINISHED)
    marker = work / IDENTITY
    wanted = normalize_identity(identity)
    begun = identity is not None and marker.exists() and len(list(work.iterdir())) > 1
    found = read_identity(work) if begun else None
    if begun and found != wanted:
        _set_aside(work, folder, differences(found, wanted))
    if not begun or found != wanted:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        if identity is not None:
            new = marker.with_suffix(".new")
            new.write_text(json.dumps(identity, indent=1), encoding="utf-8")
            new.replace(marker)
    yield work
    replace_folder(work, folder)


def _set_aside(work: Path, folder: Path, differing: list[str]) -> None:
    aside = folder.with_name(folder.name + SET_ASIDE)
    shutil.rmtree(aside, ignore_errors=True)
    work.rename(aside)
    LOG.warning(
        "%s starts anew; what was begun with other settings (%s) is set aside as %s: to resume it, restore them and "
        "its name %s",
        *(folder, "; ".join(differing), aside, work.name),
    )


@contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place when the block ends without an error; otherwise nothing is left of it.

    What is there and no file, such as a pipe, is written to as it is.
    """
    if file.exists() and not file.is_file():
        with file.open("wb") as stream:
            yield stream
        return
    file = file.resolve()  # a link stays one
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(file.name + UNFINISHED)
    try:
        with new.open("wb") as stream:
            yield stream
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def is_finished(folder: Path, identity: dict[str, Any]) -> bool:
    """Whether `folder` is whole and was made with this identity, so that it need not be made again."""
    restore_replaced(folder)
    return (folder / IDENTITY).exists() and read_identity(folder) == normalize_identity(identity)


def read_identity(folder: Path) -> Any:
    """Read the normalized identity of a folder."""
    return normalize_identity(json.loads((folder / IDENTITY).read_text(encoding="utf-8")))


def normalize_identity(identity: Any) -> Any:
    """Return an identity as plain data without null and empty mappings, which versions without these keys leave out."""
    if isinstance(identity, Mapping):
        values = {str(key): normalize_identity(value) for key, value in identity.items()}
        return {key: value for key, value in values.items() if value not in (None, {})}
    return [normalize_identity(value) for value in identity] if isinstance(identity, list | tuple) else identity


def discard_other(folder: Path, identity: dict[str, Any]) -> None:
    """Throw away unfinished work on `folder` of another identity: of a cache, which is only made again."""
    work = folder.with_name(folder.name + UNFINISHED)
    if (work / IDENTITY).exists() and read_identity(work) != normalize_identity(identity):
        shutil.rmtree(work)


def differences(found: Any, wanted: Any, key: str = "") -> list[str]:
    """Where two trees of plain data differ: `key.of.the.place: was 1, is 2`."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted(found.keys() | wanted.keys())
        return [
            line
            for name in keys
            for line in differences(found.get(name), wanted.get(name), f"{key}.{name}" if key else name)
        ]
    return [] if found == wanted else [f"{key}: was {json.dumps(found)}, is {json.dumps(wanted)}"]


def replace_folder(work: Path, folder: Path) -> None:
    """Put a finished folder in its place; an older one goes first out of the way, then away."""
    old = folder.with_name(folder.name + OLD)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def find_upwards(path: Path) -> Path:
    """`path` from this folder or the nearest above that has it, so that a project's is found from anywhere inside.

    As it is where there is none.
    """
    here = Path.cwd()
    candidates = (folder / path for folder in (here, *here.parents))
    return path if path.exists() else next((place for place in candidates if place.exists()), path)


def restore_replaced(folder: Path) -> None:
    """Give an older folder its name again, where a run was killed between the two renames of `replace_folder`."""
    old = folder.with_name(folder.name + OLD)
    if old.exists() and not folder.exists():
        old.rename(folder)
