"""A file's share of a task cut into records, as bytes, in bounded memory."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from contexture.corpus.sources.bzip2 import blocks
from contexture.corpus.sources.files import stream
from contexture.corpus.sources.protocol import MAX_DOCUMENT, Split

_READ = 1 << 20
_HEAD = 4096


class Record(NamedTuple):
    """The bytes up to a mark, without it, and where they begin in the file's content.

    `state` is "whole"; "too_large" for more than MAX_DOCUMENT bytes, of which the first 4 kB are kept; for what follows
    the last mark "rest", or "truncated" where the content is cut off.
    """

    data: bytes
    offset: int
    state: Literal["whole", "rest", "truncated", "too_large"]


def read_records(split: Split, mark: bytes) -> Iterator[Record]:
    """The records of a split, each of which ends with `mark`. Raises SourceError where the file is damaged."""
    for number, record in enumerate(cut(_content(split), mark, split.start)):
        if number % split.parts == split.part:
            yield record


def _content(split: Split) -> Iterator[tuple[bool, bytes]]:
    """Decompressed stretches from the split's start to the file's end; whether each begins before the split's end."""
    path = split.file.path
    if split.file.shared == "records":
        yield from ((True, data) for data in stream(path, split.file.encoding))
    elif path.lower().endswith(".bz2"):
        yield from ((offset < split.end, content) for offset, content in blocks(path, split.start))
    else:
        with Path(path).open("rb") as file:
            position = file.seek(split.start)
            while data := file.read(min(_READ, split.end - position) if position < split.end else _READ):
                yield position < split.end, data
                position += len(data)


def cut(content: Iterator[tuple[bool, bytes]], mark: bytes, start: int) -> Iterator[Record]:
    """Records of a split that begins at `start`, from its content, as `_content` gives it.

    A record belongs to the split in which the mark before it begins, and the file's first to the first split:
    every record to exactly one, wherever the cuts fall. Content that ends with an EOFError is cut off.
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
                yield large or _limited(Record(buffer[begin:end], offset + begin, "whole"))
            is_mine, large = offset + end < border, None
            if not is_mine:
                return
            begin = end + len(mark)
        if is_mine and len(buffer) - begin > MAX_DOCUMENT:
            large = large or _limited(Record(buffer[begin:], offset + begin, "rest"))
        kept = begin if is_mine and not large else max(begin, len(buffer) - len(mark) + 1)
        buffer, offset = buffer[kept:], offset + kept
        if not is_mine and offset >= border:
            return
    if is_mine:
        yield large or _limited(Record(buffer, offset, state))


def _limited(record: Record) -> Record:
    if len(record.data) <= MAX_DOCUMENT:
        return record
    return Record(record.data[:_HEAD], record.offset, "too_large")
