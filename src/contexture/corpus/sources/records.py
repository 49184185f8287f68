"""Cut the split of a file into records, as bytes, in bounded memory."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from contexture.corpus.sources.bzip2 import read_blocks
from contexture.corpus.sources.files import read_chunks
from contexture.corpus.sources.protocol import MAX_DOCUMENT_BYTES, Split

_READ_BYTES = 1 << 20
_KEPT_BYTES = 4096


class RawRecord(NamedTuple):
    """The bytes before a mark, and their offset in the file's content.

    `state` is "whole"; "too_large" for more than MAX_DOCUMENT_BYTES, with only the first 4 kB of data; after the last
    mark "rest", or "truncated" if the content is cut off.
    """

    data: bytes
    offset: int
    state: Literal["whole", "rest", "truncated", "too_large"]


def read_records(split: Split, mark: bytes) -> Iterator[RawRecord]:
    """Yield the records of a split, which end with `mark`. Raises SourceError for a damaged file."""
    for number, record in enumerate(cut_records(_read_content(split), mark, split.start)):
        if number % split.parts == split.part:
            yield record


def _read_content(split: Split) -> Iterator[tuple[bool, bytes]]:
    """Yield for each decompressed chunk whether it begins in the split, and its bytes; up to the file's end."""
    path = split.file.path
    if split.file.shared == "records":
        yield from ((True, data) for data in read_chunks(path, split.file.encoding))
    elif path.lower().endswith(".bz2"):
        yield from ((offset < split.end, content) for offset, content in read_blocks(path, split.start))
    else:
        with Path(path).open("rb") as file:
            position = file.seek(split.start)
            while data := file.read(min(_READ_BYTES, split.end - position) if position < split.end else _READ_BYTES):
                yield position < split.end, data
                position += len(data)


def cut_records(content: Iterator[tuple[bool, bytes]], mark: bytes, start: int) -> Iterator[RawRecord]:
    """Yield the records of a split that begins at `start`, from the chunks of `_read_content`.

    A record belongs to the split in which the mark before it begins; the file's first record to the first split. So
    each record belongs to exactly one split. Content that ends with an EOFError is truncated.
    """
    buffer, offset, border = b"", start, math.inf
    is_mine, large = start == 0, None
    state: Literal["rest", "truncated"] = "rest"
    while True:
        try:
            is_inside, data = next(content)
        except StopIteration:
            break
        except EOFError:
            state = "truncated"
            break
        if not is_inside:
            border = min(border, offset + len(buffer))
        searched = max(0, len(buffer) - len(mark) + 1)
        buffer += data
        begin = 0
        while (end := buffer.find(mark, max(begin, searched))) >= 0:
            if is_mine:
                yield large or _limit_size(RawRecord(buffer[begin:end], offset + begin, "whole"))
            is_mine, large = offset + end < border, None
            if not is_mine:
                return
            begin = end + len(mark)
        if is_mine and len(buffer) - begin > MAX_DOCUMENT_BYTES:
            large = large or _limit_size(RawRecord(buffer[begin:], offset + begin, "rest"))
        kept = begin if is_mine and not large else max(begin, len(buffer) - len(mark) + 1)
        buffer, offset = buffer[kept:], offset + kept
        if not is_mine and offset >= border:
            return
    if is_mine:
        yield large or _limit_size(RawRecord(buffer, offset, state))


def _limit_size(record: RawRecord) -> RawRecord:
    """Return the record, or its first 4 kB as "too_large" if it has more than MAX_DOCUMENT_BYTES."""
    if len(record.data) <= MAX_DOCUMENT_BYTES:
        return record
    return RawRecord(record.data[:_KEPT_BYTES], record.offset, "too_large")
