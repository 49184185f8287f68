"""MediaWiki exports on disk: found, checked at their head, and identified, before any work starts."""

import bz2
import contextlib
import glob
import gzip
import hashlib
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contexture.corpus.errors import ExportError
from contexture.text.mediawiki import MalformedExportError, Site, parse_site

#: Suffix of a file's name → the bytes that such a file starts with.
MAGIC = {".xml.bz2": b"BZh", ".xml.gz": b"\x1f\x8b", ".xml.xz": b"\xfd7zXZ\0", ".xml": b""}
_SUFFIXES = ", ".join(sorted(MAGIC))
_HEAD_BYTES = 1 << 20
_READ_BYTES = 1 << 20
_SAMPLE_BYTES = 1 << 20
_AGAIN = "Download it again, or take it out of corpus.input."


@dataclass(frozen=True)
class ExportFile:
    """One export. `dataclasses.asdict` gives it as plain JSON.

    Attributes:
        path: absolute path.
        bytes: size on disk.
        site: the wiki, from the export's head.
        fingerprint: SHA-256 of the size and the first and last MiB, in hex.
    """

    path: str
    bytes: int
    site: Site
    fingerprint: str


def suffix_of(path: str) -> str | None:
    """Which of the known suffixes a path has, or None."""
    return next((suffix for suffix in MAGIC if path.lower().endswith(suffix)), None)


def stream(path: str) -> Iterator[bytes]:
    """The XML of an export in stretches of up to 1 MiB, decompressed by its name.

    Raises ExportError where compressed data is damaged, and EOFError after the last stretch where it is cut off.
    """
    with _open(path) as file:
        while True:
            try:
                # Not read(): it would lose what came before the end of a file that is cut off.
                data = file.read1(_READ_BYTES)
            except EOFError:
                raise
            except (OSError, lzma.LZMAError, zlib.error) as error:
                raise ExportError(f"{path}: its compressed data is damaged ({error}). {_AGAIN}") from error
            if not data:
                return
            yield data


def _open(path: str) -> Any:  # a file that knows read1(), which IO lacks
    suffix = suffix_of(path)
    if suffix == ".xml.bz2":
        return bz2.open(path)
    if suffix == ".xml.gz":
        return gzip.open(path)
    return lzma.open(path) if suffix == ".xml.xz" else Path(path).open("rb")


def find_exports(input: str) -> list[ExportFile]:
    """The exports that a path names: one file, all in a folder, or all that a glob (`**` included) matches.

    Reads no more than the first and last MiB of each. Sorted by path.

    Raises ExportError, naming the file and the way out, where nothing is found or a file is empty, unreadable,
    not of the kind its name says, no MediaWiki export, not UTF-8, or declares entities of its own.
    """
    return [_check(path) for path in _paths(input)]


def _paths(text: str) -> list[str]:
    path = Path(text).expanduser()
    if path.is_file():
        if suffix_of(path.name) is None:
            raise ExportError(f"{path}: unknown kind of file: an export's name ends in one of {_SUFFIXES}.")
        return [str(path.absolute())]
    if path.is_dir():
        found, place = [str(file) for file in path.iterdir()], "the folder holds none"
    elif glob.has_magic(text):
        # pathlib takes no absolute pattern
        found, place = glob.glob(str(path), recursive=True), "the pattern matches none"  # noqa: PTH207
    else:
        raise ExportError(f"{text}: no such file or folder. Set corpus.input to an export, a folder of them or a glob.")
    exports = {str(Path(file).absolute()) for file in found if suffix_of(file) and Path(file).is_file()}
    if not exports:
        raise ExportError(f"{text}: no exports: {place} ({_SUFFIXES}). Set corpus.input to where they are.")
    return sorted(exports)


def _check(path: str) -> ExportFile:
    try:
        size = Path(path).stat().st_size
        if not size:
            raise ExportError(f"{path}: the file is empty. {_AGAIN}")
        with Path(path).open("rb") as file:
            first = file.read(_SAMPLE_BYTES)
            file.seek(max(0, size - _SAMPLE_BYTES))
            last = file.read()
        _check_kind(path, first)
        head = _head(path)
    except OSError as error:
        raise ExportError(f"{path}: cannot be read: {error}.") from error
    site = _read_head(path, head)
    return ExportFile(path, size, site, hashlib.sha256(f"{size}\n".encode() + first + last).hexdigest())


def _head(path: str) -> bytes:
    head = b""
    with contextlib.suppress(EOFError):
        for data in stream(path):
            head += data
            if b"</siteinfo>" in head or len(head) >= _HEAD_BYTES:
                break
    if not head:
        raise ExportError(f"{path}: cut off at its very start: nothing can be decompressed. {_AGAIN}")
    return head


def _check_kind(path: str, first: bytes) -> None:
    kind = next((suffix for suffix, magic in MAGIC.items() if magic and first.startswith(magic)), ".xml")
    if kind != suffix_of(path):
        what = "is not compressed" if kind == ".xml" else f"holds {kind.removeprefix('.xml.')} data"
        raise ExportError(f"{path}: its name does not say what it is: it {what}. Rename it to end in {kind}.")


def _read_head(path: str, head: bytes) -> Site:
    head = head.removeprefix(b"\xef\xbb\xbf")
    encoding = re.match(rb"""\s*<\?xml[^>]*encoding=["']([^"']*)""", head)
    if b"\0" in head[:4] or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ExportError(f"{path}: is UTF-16. Convert it first: iconv -f UTF-16 -t UTF-8.")
    if encoding and encoding[1].lower() not in (b"utf-8", b"utf8", b"us-ascii"):
        name = encoding[1].decode("ascii", "replace")
        raise ExportError(f"{path}: declares the encoding {name}. Convert it first: iconv -f {name} -t UTF-8.")
    text = head.decode("utf-8", "replace")
    start = text.find("<mediawiki")
    if re.search("<!(?:DOCTYPE|ENTITY)", text[: start if start >= 0 else len(text)], re.IGNORECASE):
        raise ExportError(
            f"{path}: declares a document type of its own, which no MediaWiki export does and which can make a small "
            f"file expand without end. Refused; remove the declaration if you trust the file."
        )
    if start < 0:
        raise ExportError(
            f"{path}: is no MediaWiki export: no <mediawiki> in its first MiB, which starts {text[:40]!r}. "
            f"Exports are the files *-pages-articles*.xml.bz2 of a wiki's dumps, or what its page Special:Export gives."
        )
    if "<siteinfo" in text and "</siteinfo>" not in text:
        raise ExportError(f"{path}: cut off within its <siteinfo>. {_AGAIN}")
    if "\ufffd" in text[start : text.find("</siteinfo>", start)]:
        raise ExportError(f"{path}: its head is not UTF-8. Convert it first: iconv -f … -t UTF-8.")
    try:
        return parse_site(text)
    except MalformedExportError as error:
        raise ExportError(f"{path}: {error}. {_AGAIN}") from error
