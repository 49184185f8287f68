"""Find files, check their first bytes, decompress them and read them as UTF-8."""

import bz2
import codecs
import functools
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
from contexture.folders import expand_home

#: Suffix of a compressed file → its first bytes.
COMPRESSED = {".bz2": b"BZh", ".gz": b"\x1f\x8b", ".xz": b"\xfd7zXZ\0"}
DOWNLOAD_AGAIN = "Download it again, or remove it."
HEAD_BYTES = 1 << 20
_READ_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 20
_KNOWN_FORMATS = {
    b"%PDF": "a PDF, not text",
    b"PK\3\4": "a ZIP archive, not text",
    b"\xd0\xcf\x11\xe0": "an Office file, not text",
}

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]


class InputFile(NamedTuple):
    """A file's absolute path, its path below the input folder (with "/"), and its size on disk."""

    path: str
    name: str
    bytes: int


@dataclass(frozen=True)
class Head:
    """The beginning of a file."""

    size: int
    #: SHA-256 of the size and the first and last MiB, in hex.
    fingerprint: str
    encoding: Encoding
    #: The first decompressed MiB, in UTF-8 without a byte-order mark.
    data: bytes


def compressed_suffixes(suffix: str) -> tuple[str, ...]:
    """Return a suffix, alone and followed by each of the compressions: ".xml", ".xml.bz2" …"""
    return (suffix, *(suffix + compressed for compressed in COMPRESSED))


def find_files(text: str) -> list[InputFile]:
    """Return the file at a path, the files below a folder, or those that match a glob.

    Sorted, without hidden files. Links to folders are followed; a folder with several paths counts once. Raises
    SourceError if the path does not exist or cannot be read.
    """
    path = expand_home(text)
    try:
        if path.is_file():
            return [InputFile(str(path.absolute()), path.name, path.stat().st_size)]
        if path.is_dir():
            folder, paths = path, _list_files(path)
        elif glob.has_magic(text):
            folder = next(parent for parent in path.parents if not glob.has_magic(str(parent)))
            # pathlib does not support absolute patterns
            matches = map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207
            # A link to a folder above it repeats files many times: keep the shortest path.
            resolve = functools.cache(Path.resolve)
            ordered = sorted(matches, key=lambda file: (len(file.parts), file), reverse=True)
            paths = list({(resolve(file.parent), file.name): file for file in ordered}.values())
        else:
            raise SourceError(f"{text}: no such file or folder. Name a file, a folder or a glob.")
        files = {
            InputFile(str(file.absolute()), file.relative_to(folder).as_posix(), file.stat().st_size)
            for file in paths
            if file.is_file()
        }
    except OSError as error:
        raise SourceError(f"{text}: cannot be read: {error}.") from error
    return sorted(file for file in files if "/." not in f"/{file.name}")


def _list_files(folder: Path) -> list[Path]:
    """Return the files below a folder and below linked folders, each folder once, without hidden folders.

    Raises OSError if a folder cannot be listed.
    """

    def raise_error(error: OSError) -> None:
        raise error

    paths: list[Path] = []
    seen: set[tuple[int, int]] = set()
    starts = [folder]
    for start in starts:  # links come last, so that a folder below `folder` has its own path
        for parent, folders, names in os.walk(start, onerror=raise_error):
            status = Path(parent).stat()
            is_new = (status.st_dev, status.st_ino) not in seen
            seen.add((status.st_dev, status.st_ino))
            folders[:] = sorted(name for name in folders if is_new and not name.startswith("."))
            starts += [link for name in folders if (link := Path(parent, name)).is_symlink()]
            paths += [Path(parent, name) for name in names if is_new]
    return paths


def find_suffix(path: str, suffixes: Collection[str]) -> str | None:
    """Return the first of the suffixes that a path ends with, or None."""
    return next((suffix for suffix in suffixes if path.lower().endswith(suffix)), None)


def strip_suffix(path: str, suffixes: Collection[str]) -> str | None:
    """Return a path without its suffix; None if it has none of the suffixes."""
    suffix = find_suffix(path, suffixes)
    return None if suffix is None else path[: -len(suffix)]


def read_head(path: str) -> Head:
    """Return size, fingerprint, encoding and first decompressed MiB of a file.

    Raises SourceError if it is empty, unreadable, damaged at its start, or its compression does not match its name.
    """
    try:
        size = Path(path).stat().st_size
        if not size:
            raise SourceError(f"{path}: the file is empty. {DOWNLOAD_AGAIN}")
        with Path(path).open("rb") as file:
            first = file.read(_SAMPLE_BYTES)
            file.seek(max(0, size - _SAMPLE_BYTES))
            last = file.read(_SAMPLE_BYTES)
        _check_compression(path, first)
        raw = _read_start(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error}.") from error
    encoding = _detect_encoding(path, raw)
    data = raw if encoding == "utf-8" else raw[: len(raw) // 2 * 2].decode(encoding, "replace").encode("utf-8")
    fingerprint = hashlib.sha256(f"{size}\n".encode() + first + last).hexdigest()
    return Head(size, fingerprint, encoding, data.removeprefix(codecs.BOM_UTF8))


def _read_start(path: str) -> bytes:
    """Return the first decompressed MiB of a file. Raises SourceError if nothing can be decompressed."""
    head = b""
    try:
        for data in _read_raw_chunks(path):
            head += data
            if len(head) >= HEAD_BYTES:
                break
    except EOFError:
        pass
    except SourceError:
        # Later damage is reported with its position when the whole file is read.
        if not head:
            raise
    if not head:
        raise SourceError(f"{path}: cut off at its start: nothing can be decompressed. {DOWNLOAD_AGAIN}")
    return head[:HEAD_BYTES]


def _check_compression(path: str, first: bytes) -> None:
    """Raise SourceError if the compression that the first bytes show is not that of the file's suffix."""
    actual_suffix = next((suffix for suffix, magic in COMPRESSED.items() if first.startswith(magic)), "")
    name_suffix = find_suffix(path, COMPRESSED) or ""
    if actual_suffix != name_suffix:
        content = f"holds {actual_suffix[1:]} data" if actual_suffix else "is not compressed"
        name = Path(path).name[: -len(name_suffix) or None] + actual_suffix
        raise SourceError(f"{path}: its name does not match its content: it {content}. Rename it to {name}.")


def _detect_encoding(path: str, data: bytes) -> Encoding:
    """Return the encoding that the first bytes show; UTF-8 by default. Raises SourceError for UTF-32."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise SourceError(f"{path}: is UTF-32. Convert it first: iconv -f UTF-32 -t UTF-8.")
    # XML without a byte-order mark starts with "<".
    if data.startswith((codecs.BOM_UTF16_LE, b"<\0")):
        return "utf-16-le"
    return "utf-16-be" if data.startswith((codecs.BOM_UTF16_BE, b"\0<")) else "utf-8"


def require_utf8(path: str, head: Head) -> None:
    """Raise SourceError if the head is not UTF-8, with the position of the first wrong byte."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head.data)
    except UnicodeDecodeError as error:
        kind = next((name for magic, name in _KNOWN_FORMATS.items() if head.data.startswith(magic)), "not UTF-8 text")
        raise SourceError(
            f"{path}: is {kind}: byte {head.data[error.start]:#04x} at {error.start} "
            f"({error.reason}). Convert it to UTF-8 first (iconv -f … -t UTF-8), or remove it."
        ) from error


def read_chunks(path: str, encoding: Encoding = "utf-8") -> Iterator[bytes]:
    """Yield the content of a file in decompressed chunks of up to 1 MiB, as UTF-8 without a byte-order mark.

    Raises SourceError for damaged data and invalid UTF-16, and EOFError after the last chunk of a truncated file.
    """
    chunks = _read_raw_chunks(path)
    if encoding != "utf-8":
        chunks = _transcode_chunks(path, chunks, encoding)
    for first in chunks:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks


def _read_raw_chunks(path: str) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file in chunks. Raises SourceError for damaged data."""
    openers: dict[str | None, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
    with openers.get(find_suffix(path, COMPRESSED), open)(path, "rb") as file:
        while True:
            try:
                # Not read(): it would lose the last data of a truncated file.
                data = file.read1(_READ_BYTES)
            except (OSError, lzma.LZMAError, zlib.error) as error:
                raise SourceError(f"{path}: its compressed data is damaged ({error}). {DOWNLOAD_AGAIN}") from error
            if not data:
                return
            yield data


def _transcode_chunks(path: str, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Yield chunks in another encoding as UTF-8. Raises SourceError for bytes that are invalid in it."""
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
            f"{path}: is not UTF-16 near byte {position + error.start} of its text ({error.reason}). {DOWNLOAD_AGAIN}"
        ) from error


def read_all(path: str, encoding: Encoding, limit: int) -> bytes | None:
    """Return a file's whole content, decoded as by `read_chunks`; None if it is longer than `limit` bytes."""
    content = bytearray()
    for data in read_chunks(path, encoding):
        content += data
        if len(content) > limit:
            return None
    return bytes(content)
