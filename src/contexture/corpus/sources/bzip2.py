"""bzip2 from any byte of the file on: its blocks are independent, so several tasks can share one file.

Spark's own reader passes over a damaged block without a word, and fails on a file that was cut off. Here a damaged
block is an error that says where, and a cut-off file gives every whole block.
"""

import bz2
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from contexture.corpus.errors import SourceError

_BLOCK = 0x314159265359  # marks a block's start, at any bit
_END = 0x177245385090  # marks the end of a stream; blocks of another stream may follow
_WINDOW = 1 << 20


def blocks(path: str, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Byte offset and decompressed content (at most 900 kB) of each block that starts at or after byte `start`.

    Raises SourceError at a damaged block, and EOFError after the last whole one where the file is cut off.
    """
    with Path(path).open("rb") as file:
        block, chance_markers = -1, 0
        expected = 32 if start == 0 else -1  # where the next marker must be, if known: after the first header
        for position, is_block in _markers(file, start):
            if block >= 0:
                content = _decompress(*_bits(file, block, position))
                if content is None:
                    # Either damaged, or compressed data that happens to look like a marker.
                    chance_markers += 1
                    if chance_markers > 2:
                        raise _damaged(path, block)
                    continue
                yield block // 8, content
            elif expected >= 0 and position != expected:
                raise _damaged(path, expected)
            # A stream ends with its checksum, filled up to a whole byte; the next starts with a header.
            block, expected = (position, -1) if is_block else (-1, -(-(position + 80) // 8) * 8 + 32)
            chance_markers = 0
        if chance_markers:
            raise _damaged(path, block)
        if block >= 0:
            content = _last(file, path, block)
            if content:
                yield block // 8, content
            raise EOFError


def _damaged(path: str, bit: int) -> SourceError:
    return SourceError(
        f"{path}: the bzip2 block at byte {bit // 8} is damaged. Download the file again; or save what is whole with "
        f"bzip2recover, and set corpus.input to a file joined from its good pieces (cat rec*.bz2)."
    )


def _patterns() -> list[tuple[int, bytes, int]]:
    """For each marker and each of the 8 bits it may start at: (shift, its whole bytes, marker)."""
    return [
        (shift, (marker >> shift & (1 << 40) - 1).to_bytes(5, "big"), marker)
        for marker in (_BLOCK, _END)
        for shift in range(8)
    ]


def _markers(file: IO[bytes], start: int) -> Iterator[tuple[int, bool]]:
    """Bit position of every marker from byte `start` on, and whether it is a block's."""
    patterns = _patterns()
    offset, window = start, b""
    while True:
        # A marker spans 7 bytes: keep those of the last window that could begin one.
        file.seek(offset + len(window))
        more = file.read(_WINDOW)
        if not more:
            return
        window += more
        markers = []
        for shift, middle, marker in patterns:
            at = window.find(middle)
            while at >= 0:
                # The marker's last `shift` bits lie behind the five bytes found, its first 8 - shift before.
                if at >= 1 and at + 6 <= len(window):
                    bits = int.from_bytes(window[at - 1 : at + 6], "big") >> (8 - shift) & (1 << 48) - 1
                    if bits == marker:
                        markers.append(((offset + at - 1) * 8 + shift, marker == _BLOCK))
                at = window.find(middle, at + 1)
        yield from sorted(markers)
        kept = window[-6:]
        offset, window = offset + len(window) - len(kept), kept


def _bits(file: IO[bytes], begin: int, end: int) -> tuple[int, int]:
    """The bits from `begin` to `end` as a number, and how many they are."""
    file.seek(begin // 8)
    data = file.read((end + 7) // 8 - begin // 8)
    length = end - begin
    return int.from_bytes(data, "big") >> (-end % 8) & (1 << length) - 1, length


def _decompress(block: int, length: int) -> bytes | None:
    """A block's content, by making it a stream of its own; None if it is none."""
    checksum = block >> max(0, length - 80) & 0xFFFFFFFF
    stream, padding = (block << 80 | _END << 32 | checksum), -length % 8
    try:
        return bz2.decompress(b"BZh9" + (stream << padding).to_bytes((length + 80 + padding) // 8, "big"))
    except (OSError, ValueError):
        return None


def _last(file: IO[bytes], path: str, begin: int) -> bytes:
    """Content of the last block, if it is whole, of a file that ends without an end mark; else nothing."""
    size = file.seek(0, 2) * 8
    block, length = _bits(file, begin, size - (size - begin) % 8)
    try:
        return bz2.BZ2Decompressor().decompress(b"BZh9" + block.to_bytes(length // 8, "big"))
    except OSError as error:
        raise _damaged(path, begin) from error
