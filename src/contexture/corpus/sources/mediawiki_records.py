"""An export's share of a task cut into its pages, as bytes, in bounded memory."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from contexture.corpus.sources.bzip2 import blocks
from contexture.corpus.sources.files import stream
from contexture.corpus.sources.protocol import MAX_DOCUMENT, Split

_END = b"</page>"
_READ = 1 << 20
#: A page longer than this many bytes of XML is dropped; MediaWiki's own limit is 2 MiB of text a revision.
MAX_PAGE = MAX_DOCUMENT


class Record(NamedTuple):
    """Bytes up to a `</page>`, without it, and whether they hold a whole page."""

    xml: bytes
    state: Literal["whole", "truncated", "too_large"]


def read(split: Split) -> Iterator[Record]:
    """The records of a split. Raises SourceError where the file is damaged."""
    for number, record in enumerate(cut(_content(split), split.start == 0)):
        if number % split.of == split.part:
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


def cut(content: Iterator[tuple[bool, bytes]], at_start: bool) -> Iterator[Record]:
    """Records of a split from its content, as `_content` gives it.

    A record belongs to the split in which the `</page>` before it begins, and the file's first to the first split:
    every record to exactly one, wherever the cuts fall. Content that ends with an EOFError is cut off.
    """
    buffer, offset, border = b"", 0, math.inf
    mine, head, cut_off = at_start, b"", False
    while True:
        try:
            inside, data = next(content)
        except (StopIteration, EOFError) as end:
            cut_off = isinstance(end, EOFError)
            break
        if not inside:
            border = min(border, offset + len(buffer))
        searched = max(0, len(buffer) - len(_END) + 1)
        buffer += data
        start = 0
        while (found := buffer.find(_END, max(start, searched))) >= 0:
            if mine:
                yield Record(head, "too_large") if head else Record(buffer[start:found], "whole")
            mine, head = offset + found < border, b""
            if not mine:
                return
            start = found + len(_END)
        if mine and len(buffer) - start > MAX_PAGE:
            head = head or buffer[start : start + 4096]
        keep = start if mine and not head else max(start, len(buffer) - len(_END) + 1)
        buffer, offset = buffer[keep:], offset + keep
        if not mine and offset >= border:
            return
    lost = b"<page>" in buffer or (cut_off and b"</mediawiki>" not in buffer)
    if mine and (head or lost):
        yield Record(head or buffer, "too_large" if head else "truncated")
