"""A file's lines, cut into splits, in bounded memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from contexture.corpus.sources.files import stream
from contexture.corpus.sources.protocol import MAX_DOCUMENT, Split

_READ = 1 << 20
_HEAD = 4096


class Line(NamedTuple):
    """A line without its end, where it begins in the file's content, and whether it is whole."""

    data: bytes
    offset: int
    state: Literal["whole", "truncated", "too_large"]


def read_lines(split: Split) -> Iterator[Line]:
    """The lines of a split, those that begin in it, without the blank ones.

    Of lines longer than MAX_DOCUMENT the first 4 kB are given. Raises SourceError where the file is damaged.
    """
    if split.file.shared == "bytes":
        yield from _stretch(split.file.path, split.start, split.end)
    else:
        lines = _lines(stream(split.file.path, split.file.encoding), 0)
        yield from (line for number, line in enumerate(lines) if number % split.of == split.part)


def _stretch(path: str, start: int, end: int) -> Iterator[Line]:
    with Path(path).open("rb") as file:
        # A line begins at `start` if the byte before it ends one; else it belongs to a split before.
        position = file.seek(max(0, start - 1))
        while start and position < end and (data := file.read(_READ)):
            found = data.find(b"\n")
            position += len(data) if found < 0 else found + 1
            if found >= 0:
                break
        file.seek(position)
        for line in _lines(iter(lambda: file.read(_READ), b""), position):
            if line.offset >= end:
                return
            yield line


def _lines(chunks: Iterator[bytes], offset: int) -> Iterator[Line]:
    """The lines of content that begins at `offset`. Content that ends with an EOFError is cut off."""
    line, size, cut_off = bytearray(), 0, False
    while True:
        try:
            data = next(chunks, b"")
        except EOFError:
            data, cut_off = b"", True
        *pieces, tail = data.split(b"\n") if data else (b"", b"")
        for piece in pieces:
            size += len(piece)
            if size <= MAX_DOCUMENT:
                line += piece
            if cut_off and size:
                yield Line(bytes(line[:_HEAD]), offset, "truncated")
            elif size > MAX_DOCUMENT:
                yield Line(bytes(line[:_HEAD]), offset, "too_large")
            elif line.strip():
                yield Line(bytes(line), offset, "whole")
            offset += size + 1
            line.clear()
            size = 0
        if not data:
            return
        size += len(tail)
        if size <= MAX_DOCUMENT:
            line += tail
