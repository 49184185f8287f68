"""Folders and files that appear whole or not at all."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

UNFINISHED = ".unfinished"
IDENTITY = "identity.json"


@contextmanager
def work_folder(folder: Path, identity: dict[str, Any] | None = None) -> Iterator[Path]:
    """`<folder>.unfinished` to work in; renamed to `folder` when the block ends without an error.

    What a killed run left there is thrown away, or, if the work has an `identity`, kept to be resumed: then it must
    have been made with the same one, otherwise ValueError names what differs. Work that was refused before it began
    has nothing to resume.
    """
    work = folder.with_name(folder.name + UNFINISHED)
    marker = work / IDENTITY
    wanted = json.loads(json.dumps(identity))
    if identity is not None and marker.exists() and len(list(work.iterdir())) > 1:
        found = json.loads(marker.read_text(encoding="utf-8"))
        if found != wanted:
            raise ValueError(
                f"{work} was begun with other settings ({'; '.join(differences(found, wanted))}): restore them to "
                "resume it, or delete it to start anew"
            )
    else:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        if identity is not None:
            new = marker.with_suffix(".new")
            new.write_text(json.dumps(wanted, indent=1), encoding="utf-8")
            new.replace(marker)
    yield work
    replace(work, folder)


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


def finished(folder: Path, identity: dict[str, Any]) -> bool:
    """Whether `folder` is whole and was made with this identity, so that it need not be made again."""
    marker = folder / IDENTITY
    if not marker.exists():
        return False
    found: bool = json.loads(marker.read_text(encoding="utf-8")) == json.loads(json.dumps(identity))
    return found


def discard_other(folder: Path, identity: dict[str, Any]) -> None:
    """Throw away unfinished work on `folder` of another identity: of a cache, which is only made again."""
    work = folder.with_name(folder.name + UNFINISHED)
    marker = work / IDENTITY
    if marker.exists() and json.loads(marker.read_text(encoding="utf-8")) != json.loads(json.dumps(identity)):
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


def replace(work: Path, folder: Path) -> None:
    """Put a finished folder in its place; an older one goes first out of the way, then away."""
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
