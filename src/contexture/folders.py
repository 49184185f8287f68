"""Folders and files that are either complete or missing."""

import errno
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO

from filelock import BaseFileLock, FileLock, Timeout

LOG = logging.getLogger(__name__)
UNFINISHED = ".unfinished"
OLD = ".old"
SET_ASIDE = ".set-aside"
IDENTITY = "identity.json"
#: Errors of file systems that have no locks.
WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class ReplacedError(ValueError):
    """A folder was replaced after it was opened."""


def hash_file(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def watch_folder(file: Path) -> Callable[[], None]:
    """Return a function that raises ReplacedError if `file`, and so its folder, was replaced after this call."""

    def identify() -> tuple[int, int] | None:
        try:
            status = file.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns  # inodes of deleted files are used again

    opened = identify()

    def check() -> None:
        if identify() != opened:
            raise ReplacedError(f"{file.parent} was replaced after it was opened: start the command again")

    return check


@contextmanager
def lock_folder(folder: Path, wait: bool = False) -> Iterator[None]:
    """Keep other processes from making `folder`, by a lock in its parent folder, which ends with this process.

    If another process has the lock, `wait` until it ends. Without `wait`, raises ValueError. A file system without
    locks is used without.
    """
    file = folder.with_name(f".{folder.name}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    _acquire(lock, folder, wait)
    try:
        yield
    finally:
        with suppress(OSError):  # Windows does not delete a locked file
            file.unlink(missing_ok=True)
        lock.release()


def _acquire(lock: BaseFileLock, folder: Path, wait: bool) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if not wait:
            raise ValueError(f"another process is working on {folder}: wait for it, or end it") from None
        LOG.info("waiting for another process, which is working on %s", folder)
        lock.acquire()
    except PermissionError as error:
        raise ValueError(f"{lock.lock_file} is another user's: if nobody is working on {folder}, delete it") from error
    except OSError as error:
        if error.errno not in WITHOUT_LOCKS:
            raise


@contextmanager
def work_folder(folder: Path, identity: dict[str, Any] | None = None, is_cache: bool = False) -> Iterator[Path]:
    """Yield `<folder>.unfinished` to work in, and rename it to `folder` if the block ends without an error.

    Unfinished work of a killed run is deleted; with an `identity`, work of the same identity is kept to be resumed, and
    work of another one is set aside with a warning that names the differences. Work that was set aside is resumed if
    its identity is wanted again. Work on a cache, which can be made again, is deleted instead. Raises ValueError while
    another process works on the folder.
    """
    folder = folder.resolve()
    with lock_folder(folder), replaced_folder(folder, identity, is_cache) as work:
        yield work


@contextmanager
def replaced_folder(folder: Path, identity: dict[str, Any] | None = None, is_cache: bool = False) -> Iterator[Path]:
    """Do as `work_folder` with a folder that is locked."""
    restore_replaced(folder)
    work = folder.with_name(folder.name + UNFINISHED)
    if identity is None or not _resume(work, folder, normalize_identity(identity), is_cache):
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        if identity is not None:
            new = (work / IDENTITY).with_suffix(".new")
            new.write_text(json.dumps(identity, indent=1), encoding="utf-8")
            new.replace(work / IDENTITY)
    yield work
    replace_folder(work, folder)


def _resume(work: Path, folder: Path, wanted: Any, is_cache: bool) -> bool:
    """Return whether `work` has begun work of an identity; that of another one is set aside, except for caches."""
    begun = _read_begun(work)
    if begun == wanted:
        return True
    if is_cache:
        return False
    if begun is not None:
        _set_aside(work, folder, find_differences(begun, wanted))
    for aside in folder.parent.iterdir():
        if aside.name.startswith(folder.name + SET_ASIDE) and _read_begun(aside) == wanted:
            shutil.rmtree(work, ignore_errors=True)
            aside.rename(work)
            return True
    return False


def _read_begun(work: Path) -> Any:
    """Return the identity of begun work; None if it cannot be read, or if there are no other files."""
    try:
        return read_identity(work) if len(list(work.iterdir())) > 1 else None
    except (OSError, ValueError):
        return None


def _set_aside(work: Path, folder: Path, differing: list[str]) -> None:
    """Rename unfinished work to `<folder>.set-aside`, and log a warning that names the differing settings."""
    name = folder.name + SET_ASIDE
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    aside = next(path for path in map(folder.with_name, names) if not path.exists())
    work.rename(aside)
    LOG.warning(
        "%s starts anew; what was begun with other settings (%s) is set aside as %s. To resume it, restore them",
        *(folder, "; ".join(differing), aside),
    )


@contextmanager
def whole_file(file: Path) -> Iterator[BinaryIO]:
    """Yield a stream whose content replaces `file` if the block ends without an error, and is deleted otherwise.

    A pipe or other special file is written to directly.
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
    """Return whether `folder` is complete and was made with this identity."""
    restore_replaced(folder.resolve())
    return (folder / IDENTITY).exists() and read_identity(folder) == normalize_identity(identity)


def read_identity(folder: Path) -> Any:
    """Return the identity that a folder was made with (what its content depends on), normalized."""
    return normalize_identity(json.loads((folder / IDENTITY).read_text(encoding="utf-8")))


def normalize_identity(identity: Any) -> Any:
    """Return an identity as plain data without null and empty mappings, which versions without these keys leave out."""
    if isinstance(identity, Mapping):
        values = {str(key): normalize_identity(value) for key, value in identity.items()}
        return {key: value for key, value in values.items() if value not in (None, {})}
    return [normalize_identity(value) for value in identity] if isinstance(identity, list | tuple) else identity


def find_differences(existing: Any, wanted: Any, key: str = "") -> list[str]:
    """Return the differences of two trees of plain data, as `dotted.key: was 1, is 2`."""
    if isinstance(existing, dict) and isinstance(wanted, dict):
        keys = sorted(existing.keys() | wanted.keys())
        return [
            line
            for name in keys
            for line in find_differences(existing.get(name), wanted.get(name), f"{key}.{name}" if key else name)
        ]
    return [] if existing == wanted else [f"{key}: was {json.dumps(existing)}, is {json.dumps(wanted)}"]


def replace_folder(work: Path, folder: Path) -> None:
    """Move the finished folder `work` to `folder`, replacing an older one."""
    old = folder.with_name(folder.name + OLD)
    if old.is_symlink():  # left by an older version
        old.unlink()
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def check_replaceable(folder: Path, *markers: str) -> None:
    """Raise ValueError for a folder with other files than ours, which has none of the files `markers`."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: choose a folder")
    if folder.exists() and not any((folder / name).exists() for name in markers) and any(folder.iterdir()):
        raise ValueError(
            f"{folder} has other files, which would be deleted: delete it, or choose a new or empty folder"
        )


def find_upwards(path: Path) -> Path:
    """Return `path` in this folder or the nearest parent that has it; unchanged if there is none."""
    working_dir = Path.cwd()
    candidates = (folder / path for folder in (working_dir, *working_dir.parents))
    return path if path.exists() else next((candidate for candidate in candidates if candidate.exists()), path)


def expand_home(path: str | Path) -> Path:
    """Return a path with the home folder for `~`; that of an unknown user is unchanged: there is no such file."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib raises RuntimeError


def restore_replaced(folder: Path) -> None:
    """Move the older folder back if a run was killed between the two renames of `replace_folder`."""
    old = folder.with_name(folder.name + OLD)
    if old.exists() and not folder.exists():
        old.rename(folder)
