"""Files on disk: found, checked by their first bytes, opened by their compression, read as UTF-8."""

import bz2
import codecs
import glob
import gzip
import hashlib
import lzma
import os
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from contexture.corpus.errors import SourceError

#: End of a compressed file's name → the bytes that such a file starts with.
COMPRESSED = {".bz2": b"BZh", ".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0"}
AGAIN = "Download it again, or leave it out."
HEAD_BYTES = 1 << 20
_READ_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 20
_KNOWN = {
    b"%PDF": "a PDF, no text",
    b"PK\3\4": "a ZIP archive, no text",
    b"\xd0\xcf\x11\xe0": "an Office file, no text",
}

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]


class InputFile(NamedTuple):
    """A file's absolute path, its path below the folder that was asked for, with "/", and its size on disk."""

    path: str
    name: str
    bytes: int


@dataclass(frozen=True)
class Head:
    """What a file starts with."""

    size: int
    #: SHA-256 of the size and the first and last MiB, in hex.
    fingerprint: str
    encoding: Encoding
    #: The first MiB, or all, decompressed, in UTF-8 without a byte-order mark.
    data: bytes


def compressions(suffix: str) -> tuple[str, ...]:
    """A suffix, alone and before those of the compressions."""
    return (suffix, *(suffix + compressed for compressed in COMPRESSED))


def find(text: str) -> list[InputFile]:
    """The files that a path names: one, those below a folder, or those that a glob matches.

    Sorted, without hidden ones. Raises SourceError where the path does not exist or cannot be read.
    """
    path = Path(text).expanduser()
    try:
        if path.is_file():
            return [InputFile(str(path.absolute()), path.name, path.stat().st_size)]
        if path.is_dir():
            folder, paths = path, _below(path)
        elif glob.has_magic(text):
            folder = next(parent for parent in path.parents if not glob.has_magic(str(parent)))
            # pathlib takes no absolute pattern
            paths = [Path(file) for file in glob.glob(str(path), recursive=True)]  # noqa: PTH207
        else:
            raise SourceError(f"{text}: no such file or folder. Set corpus.input to a file, a folder or a glob.")
        files = {
            InputFile(str(file.absolute()), file.relative_to(folder).as_posix(), file.stat().st_size)
            for file in paths
            if file.is_file()
        }
    except OSError as error:
        raise SourceError(f"{text}: cannot be read: {error}.") from error
    return sorted(file for file in files if "/." not in f"/{file.name}")


def _below(folder: Path) -> list[Path]:
    """What lies in a folder and its subfolders, hidden ones left out. Raises OSError where one cannot be listed."""

    def refuse(error: OSError) -> None:
        raise error

    paths = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(parent, name) for name in names]
    return paths


def suffix_of(path: str, suffixes: Collection[str]) -> str | None:
    """Which of the suffixes a path has, or None."""
    return next((suffix for suffix in suffixes if path.lower().endswith(suffix)), None)


def without_suffix(path: str, suffixes: Collection[str]) -> str | None:
    """A path without whichever of the suffixes it has; None if it has none."""
    suffix = suffix_of(path, suffixes)
    return None if suffix is None else path[: -len(suffix)]


def inspect(path: str) -> Head:
    """The head of a file.

    Raises SourceError if it is empty, unreadable, damaged at its start, or not compressed as its name says.
    """
    try:
        size = Path(path).stat().st_size
        if not size:
            raise SourceError(f"{path}: the file is empty. {AGAIN}")
        with Path(path).open("rb") as file:
            first = file.read(_SAMPLE_BYTES)
            file.seek(max(0, size - _SAMPLE_BYTES))
            last = file.read(_SAMPLE_BYTES)
        _check_compression(path, first)
        raw = _first(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error}.") from error
    encoding = _encoding(path, raw)
    data = raw if encoding == "utf-8" else raw[: len(raw) // 2 * 2].decode(encoding, "replace").encode("utf-8")
    fingerprint = hashlib.sha256(f"{size}\n".encode() + first + last).hexdigest()
    return Head(size, fingerprint, encoding, data.removeprefix(codecs.BOM_UTF8))


def _first(path: str) -> bytes:
    head = b""
    try:
        for data in _chunks(path):
            head += data
            if len(head) >= HEAD_BYTES:
                break
    except EOFError:
        pass
    except SourceError:
        # Damage after the start is found again, and its position named, when the file is read.
        if not head:
            raise
    if not head:
        raise SourceError(f"{path}: cut off at its very start: nothing can be decompressed. {AGAIN}")
    return head[:HEAD_BYTES]


def _check_compression(path: str, first: bytes) -> None:
    kind = next((suffix for suffix, magic in COMPRESSED.items() if first.startswith(magic)), "")
    named = suffix_of(path, COMPRESSED) or ""
    if kind != named:
        content = f"holds {kind[1:]} data" if kind else "is not compressed"
        name = Path(path).name[: -len(named) or None] + kind
        raise SourceError(f"{path}: its name does not say what it is: it {content}. Rename it to {name}.")


def _encoding(path: str, data: bytes) -> Encoding:
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise SourceError(f"{path}: is UTF-32. Convert it first: iconv -f UTF-32 -t UTF-8.")
    # XML without a byte-order mark starts with "<".
    if data.startswith((codecs.BOM_UTF16_LE, b"<\0")):
        return "utf-16-le"
    return "utf-16-be" if data.startswith((codecs.BOM_UTF16_BE, b"\0<")) else "utf-8"


def require_utf8(path: str, head: Head) -> None:
    """Raises SourceError, naming the byte, where the head is not UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head.data)
    except UnicodeDecodeError as error:
        kind = next((name for magic, name in _KNOWN.items() if head.data.startswith(magic)), "not UTF-8 text")
        raise SourceError(
            f"{path}: is {kind}: byte {head.data[error.start]:#04x} at {error.start} "
            f"({error.reason}). Convert it to UTF-8 first (iconv -f … -t UTF-8), or leave it out."
        ) from error


def stream(path: str, encoding: Encoding = "utf-8") -> Iterator[bytes]:
    """The content of a file in stretches of up to 1 MiB, decompressed by its name, as UTF-8 without a byte-order mark.

    Raises SourceError for damaged data and invalid UTF-16, and EOFError after the last stretch of a cut-off file.
    """
    chunks = _chunks(path)
    if encoding != "utf-8":
        chunks = _transcoded(path, chunks, encoding)
    for first in chunks:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks


def _chunks(path: str) -> Iterator[bytes]:
    openers: dict[str | None, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
    with openers.get(suffix_of(path, COMPRESSED), open)(path, "rb") as file:
        while True:
            try:
                # Not read(): it would lose what came before the end of a file that is cut off.
                data = file.read1(_READ_BYTES)
            except (OSError, lzma.LZMAError, zlib.error) as error:
                raise SourceError(f"{path}: its compressed data is damaged ({error}). {AGAIN}") from error
            if not data:
                return
            yield data


def _transcoded(path: str, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    position = 0
    try:
        for data in chunks:
            if text := decoder.decode(data):
                yield text.encode()
            position += len(data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path}: is not UTF-16 near byte {position + error.start} of its content ({error.reason}). {AGAIN}"
        ) from error


def read_all(path: str, encoding: Encoding, limit: int) -> bytes | None:
    """All of a file's content, as `stream` gives it; None where it is longer than `limit` bytes."""
    content = bytearray()
    for data in stream(path, encoding):
        content += data
        if len(content) > limit:
            return None
    return bytes(content)
