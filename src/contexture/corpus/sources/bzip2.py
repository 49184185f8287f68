"""Read bzip2 files from any byte: their blocks are independent, so several tasks can share one file.

Spark's own reader skips damaged blocks silently and fails on truncated files. This one raises an error with the
position of a damaged block, and reads all whole blocks of a truncated file.
"""

import bz2
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from contexture.corpus.errors import SourceError

_BLOCK_MARKER = 0x314159265359  # start of a block, at any bit
_END_MARKER = 0x177245385090  # end of a stream; another stream may follow
_WINDOW_BYTES = 1 << 20


def read_blocks(path: str, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield byte offset and decompressed content (at most 900 kB) of each block that starts at or after byte `start`.

    Raises SourceError for a damaged block, and EOFError after the last whole block of a truncated file.
    """
    with Path(path).open("rb") as file:
        block, chance_markers = -1, 0
        expected = 32 if start == 0 else -1  # position of the next marker, if known: after the first header
        for position, is_block in _find_markers(file, start):
            if block >= 0:
                content = _decompress(*_read_bits(file, block, position))
                if content is None:
                    # Damaged, or the marker is compressed data by chance.
                    chance_markers += 1
                    if chance_markers > 2:
                        raise _damage_error(path, block)
                    continue
                yield block // 8, content
            elif expected >= 0 and position != expected:
                raise _damage_error(path, expected)
            # A checksum, padded to a whole byte, ends a stream. The next one starts with a header.
            block, expected = (position, -1) if is_block else (-1, -(-(position + 80) // 8) * 8 + 32)
            chance_markers = 0
        if chance_markers:
            raise _damage_error(path, block)
        if block >= 0:
            content = _read_last_block(file, path, block)
            if content:
                yield block // 8, content
            raise EOFError


def _damage_error(path: str, bit: int) -> SourceError:
    """Return the SourceError for a damaged block that begins at this bit."""
    return SourceError(
        f"{path}: the bzip2 block at byte {bit // 8} is damaged. Download the file again; or extract the whole blocks "
        f"with bzip2recover, join them (cat rec*.bz2) and name the result instead."
    )


def _marker_patterns() -> list[tuple[int, bytes, int]]:
    """Return search patterns for both markers at each of 8 bits of a byte: (shift, whole bytes, marker)."""
    return [
        (shift, (marker >> shift & (1 << 40) - 1).to_bytes(5, "big"), marker)
        for marker in (_BLOCK_MARKER, _END_MARKER)
        for shift in range(8)
    ]


def _find_markers(file: IO[bytes], start: int) -> Iterator[tuple[int, bool]]:
    """Yield the bit position of each marker from byte `start` on, and whether it starts a block."""
    patterns = _marker_patterns()
    offset, window = start, b""
    while True:
        # A marker spans 7 bytes: keep the end of the last window, which may begin one.
        file.seek(offset + len(window))
        more = file.read(_WINDOW_BYTES)
        if not more:
            return
        window += more
        markers = []
        for shift, middle, marker in patterns:
            match_start = window.find(middle)
            while match_start >= 0:
                # The marker's last `shift` bits follow the five bytes, its first 8 - shift precede them.
                if match_start >= 1 and match_start + 6 <= len(window):
                    content = int.from_bytes(window[match_start - 1 : match_start + 6], "big")
                    bits = content >> (8 - shift) & (1 << 48) - 1
                    if bits == marker:
                        markers.append(((offset + match_start - 1) * 8 + shift, marker == _BLOCK_MARKER))
                match_start = window.find(middle, match_start + 1)
        yield from sorted(markers)
        kept = window[-6:]
        offset, window = offset + len(window) - len(kept), kept


def _read_bits(file: IO[bytes], begin: int, end: int) -> tuple[int, int]:
    """Return the bits from `begin` to `end` as a number, and their count."""
    file.seek(begin // 8)
    data = file.read((end + 7) // 8 - begin // 8)
    length = end - begin
    return int.from_bytes(data, "big") >> (-end % 8) & (1 << length) - 1, length


def _decompress(block: int, length: int) -> bytes | None:
    """Return the content of a block (bits as a number, and their count); None if it is not a block."""
    checksum = block >> max(0, length - 80) & 0xFFFFFFFF
    stream, padding = (block << 80 | _END_MARKER << 32 | checksum), -length % 8
    try:
        return bz2.decompress(b"BZh9" + (stream << padding).to_bytes((length + 80 + padding) // 8, "big"))
    except (OSError, ValueError):
        return None


def _read_last_block(file: IO[bytes], path: str, begin: int) -> bytes:
    """Return the content of the last block of a file without end marker; empty if the block is not whole."""
    size = file.seek(0, 2) * 8
    block, length = _read_bits(file, begin, size - (size - begin) % 8)
    try:
        return bz2.BZ2Decompressor().decompress(b"BZh9" + block.to_bytes(length // 8, "big"))
    except OSError as error:
        raise _damage_error(path, begin) from error
