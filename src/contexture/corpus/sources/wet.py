"""Common Crawl's WET files: the text of web pages, a WARC record each."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import languages, protocol
from contexture.corpus.sources.files import InputFile, compressions, inspect, stream
from contexture.corpus.sources.protocol import Row, SourceFile, Split, blank, content_name, document, source_file
from contexture.text.language_codes import two_letters
from contexture.text.languages import languages_of
from contexture.text.paragraphs import one_line
from contexture.text.plain import parse_text

SUFFIXES = compressions(".wet")

_VERSION = b"WARC/"
_LINE_BYTES = 1 << 16
_READ_BYTES = 1 << 20
_TITLE_CHARACTERS = 200


class Record(NamedTuple):
    """A record's headers, by their names in lower case, its content, and why it is lost if it is."""

    headers: dict[str, str]
    content: bytes
    lost: str | None = None


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """`lang` is that of the pages whose language was not identified; AUTO: found by their text.

    Raises SourceError where a file is no WARC.
    """
    return [_check(entry, lang) for entry in inputs]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A page is a document named by its address, a line a paragraph, the first line its title.

    Of several copies of a page the newest is kept. Dropped are pages that are cut off ("truncated"), "too_large" and
    "not_utf8", and stretches that are no records ("malformed_record").
    """
    return partial(_rows, min_characters=config.min_characters)


def _check(entry: InputFile, lang: str) -> SourceFile:
    head = inspect(entry.path)
    if not head.data.lstrip().startswith(_VERSION):
        start = head.data[:40].decode("utf-8", "replace")
        raise SourceError(
            f"{entry.path}: is no WET file: it does not start with WARC/1.0 but {start!r}. "
            f"Such files are the *.warc.wet.gz of a crawl of Common Crawl."
        )
    return source_file("wet", entry, head, lang, "records")


def _rows(split: Split, min_characters: int) -> Iterator[Row]:
    pages = (record for record in records(stream(split.file.path, split.file.encoding)) if _is_page(record))
    for number, record in enumerate(pages):
        if number % split.parts == split.part:
            yield _row(record, split.file.lang, min_characters)


def _is_page(record: Record) -> bool:
    return record.lost is not None or record.headers.get("warc-type") == "conversion"


def _row(record: Record, lang: str, min_characters: int) -> Row:
    headers = record.headers
    identified = headers.get("warc-identified-content-language", "").partition(",")[0].strip()
    address = headers.get("warc-target-uri", "").strip("<> ") or headers.get("warc-record-id", "").strip("<> ")
    name = one_line(address) or content_name(record.content)
    date = re.sub(r"[^0-9]", "", headers.get("warc-date", ""))[:14]
    try:
        text, lost = record.content.decode(), record.lost
    except UnicodeDecodeError:
        text, lost = "", record.lost or "not_utf8"
    if identified.isascii() and identified.isalpha():
        lang = two_letters(identified)
    elif lang == languages.AUTO:
        passages = languages_of(text.splitlines())
        lang = languages.most_frequent(passages) if passages else languages.UNKNOWN
    title = "" if lost else one_line(text.lstrip().partition("\n")[0])[:_TITLE_CHARACTERS]
    row = blank(name, lang, title, lost, int(date or 0))
    return row if lost else document(row, parse_text(text, "line", min_characters))


def records(chunks: Iterator[bytes]) -> Iterator[Record]:
    """The records of a WARC file; content that ends with an EOFError is cut off."""
    content = io.BufferedReader(_Chunks(chunks), _READ_BYTES)
    line = content.readline(_LINE_BYTES)
    while line:
        if not line.strip():
            line = content.readline(_LINE_BYTES)
            continue
        if not line.startswith(_VERSION):
            yield Record({}, line, "malformed_record")
            line = _next_record(content, line)
            continue
        headers, is_ended = _headers(content)
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and len(length) < 16:
            yield _record(headers, content, int(length))
            line = content.readline(_LINE_BYTES)
        else:
            yield Record(headers, b"", "truncated" if is_ended else "malformed_record")
            line = _next_record(content, b"\n")


def _headers(content: BinaryIO) -> tuple[dict[str, str], bool]:
    """A record's headers, and whether the file ended among them."""
    headers: dict[str, str] = {}
    while (line := content.readline(_LINE_BYTES)).strip():
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return headers, not line.endswith(b"\n")


def _record(headers: dict[str, str], content: BinaryIO, length: int) -> Record:
    if length <= protocol.MAX_DOCUMENT:
        data = content.read(length)
        return Record(headers, data) if len(data) == length else Record(headers, b"", "truncated")
    while length and (data := content.read(min(length, _READ_BYTES))):
        length -= len(data)
    return Record(headers, b"", "truncated" if length else "too_large")


def _next_record(content: BinaryIO, line: bytes) -> bytes:
    """The first line of the next record behind `line`; nothing at the end."""
    begins = False
    while line and not (begins and line.startswith(_VERSION)):
        begins = line.endswith(b"\n")
        line = content.readline(_LINE_BYTES)
    return line


class _Chunks(io.RawIOBase):
    """Chunks of bytes as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._data = memoryview(b"")

    def readable_streams(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._data:
            try:
                self._data = memoryview(next(self._chunks, b""))
            except EOFError:
                return 0
        size = min(len(buffer), len(self._data))
        buffer[:size] = self._data[:size]
        self._data = self._data[size:]
        return size
