"""Common Crawl's WET files: texts of web pages, one WARC record each."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, NamedTuple

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import languages, protocol
from contexture.corpus.sources.files import InputFile, compressed_suffixes, read_chunks, read_head
from contexture.corpus.sources.protocol import Row, SourceFile, Split, document_row, empty_row, name_by_content
from contexture.text.language_codes import two_letter_code
from contexture.text.languages import detect_languages
from contexture.text.paragraphs import one_line
from contexture.text.plain import parse_text

SUFFIXES = compressed_suffixes(".wet")

_VERSION = b"WARC/"
_MAX_LINE_BYTES = 1 << 16
_READ_BYTES = 1 << 20
_MAX_TITLE_CHARS = 200


class WarcRecord(NamedTuple):
    """Headers by lower-case name, content, and the reason to drop the record, if any."""

    headers: dict[str, str]
    content: bytes
    dropped: str | None = None


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """Check the start of each file and return the files. Raises SourceError if one is not WARC.

    `lang` is the language of pages that state none; AUTO detects it from their text.
    """
    return [_check_file(entry, lang) for entry in inputs]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """Return the function that reads a split's pages into rows.

    The lines of a page are paragraphs, the first is the title, the address is the name. The newest copy of a page is
    kept. Reasons to drop a page: "truncated", "too_large", "not_utf8", and "malformed_record" for data between records.
    """
    return partial(_read_rows, min_characters=config.min_characters)


def _check_file(entry: InputFile, lang: str) -> SourceFile:
    """Return the checked file."""
    head = read_head(entry.path)
    if not head.data.lstrip().startswith(_VERSION):
        start = head.data[:40].decode("utf-8", "replace")
        raise SourceError(
            f"{entry.path}: is not a WET file: it starts with {start!r}, not with WARC/1.0. "
            f"Use *.warc.wet.gz files of Common Crawl."
        )
    return SourceFile.from_head("wet", entry, head, lang, "records")


def _read_rows(split: Split, min_characters: int) -> Iterator[Row]:
    """Yield a row for each page of the split; paragraphs with fewer characters are dropped."""
    records = read_warc_records(read_chunks(split.file.path, split.file.encoding))
    pages = (record for record in records if _is_page(record))
    for number, record in enumerate(pages):
        if number % split.parts == split.part:
            yield _build_row(record, split.file.lang, min_characters)


def _is_page(record: WarcRecord) -> bool:
    """Return whether a record is the text of a page, or damaged data that counts as a dropped page."""
    return record.dropped is not None or record.headers.get("warc-type") == "conversion"


def _build_row(record: WarcRecord, lang: str, min_characters: int) -> Row:
    """Return the row of a page with its title, language and paragraphs, or with the reason to drop it."""
    headers = record.headers
    identified = headers.get("warc-identified-content-language", "").partition(",")[0].strip()
    address = headers.get("warc-target-uri", "").strip("<> ") or headers.get("warc-record-id", "").strip("<> ")
    name = one_line(address) or name_by_content(record.content)
    date = re.sub(r"[^0-9]", "", headers.get("warc-date", ""))[:14]
    try:
        text, dropped = record.content.decode(), record.dropped
    except UnicodeDecodeError:
        text, dropped = "", record.dropped or "not_utf8"
    if identified.isascii() and identified.isalpha():
        lang = two_letter_code(identified)
    elif lang == languages.AUTO:
        passages = detect_languages(text.splitlines())
        lang = languages.most_frequent(passages) if passages else languages.UNKNOWN
    title = "" if dropped else one_line(text.lstrip().partition("\n")[0])[:_MAX_TITLE_CHARS]
    row = empty_row(name, lang, title, dropped, int(date or 0))
    return row if dropped else document_row(row, parse_text(text, "line", min_characters))


def read_warc_records(chunks: Iterator[bytes]) -> Iterator[WarcRecord]:
    """Yield the records of a WARC file. Content that ends with an EOFError is truncated."""
    content = io.BufferedReader(_ChunkReader(chunks), _READ_BYTES)
    line = content.readline(_MAX_LINE_BYTES)
    while line:
        if not line.strip():
            line = content.readline(_MAX_LINE_BYTES)
            continue
        if not line.startswith(_VERSION):
            yield WarcRecord({}, line, "malformed_record")
            line = _find_next_record(content, line)
            continue
        headers, is_ended = _read_headers(content)
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and len(length) < 16:
            yield _read_record(headers, content, int(length))
            line = content.readline(_MAX_LINE_BYTES)
        else:
            yield WarcRecord(headers, b"", "truncated" if is_ended else "malformed_record")
            line = _find_next_record(content, b"\n")


def _read_headers(content: BinaryIO) -> tuple[dict[str, str], bool]:
    """Return a record's headers by lower-case name, and whether the file ended within them."""
    headers: dict[str, str] = {}
    while (line := content.readline(_MAX_LINE_BYTES)).strip():
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return headers, not line.endswith(b"\n")


def _read_record(headers: dict[str, str], content: BinaryIO, length: int) -> WarcRecord:
    """Return the record with these headers and `length` bytes of content; dropped if it is truncated or too large."""
    if length <= protocol.MAX_DOCUMENT_BYTES:
        data = content.read(length)
        return WarcRecord(headers, data) if len(data) == length else WarcRecord(headers, b"", "truncated")
    while length and (data := content.read(min(length, _READ_BYTES))):
        length -= len(data)
    return WarcRecord(headers, b"", "truncated" if length else "too_large")


def _find_next_record(content: BinaryIO, line: bytes) -> bytes:
    """Skip lines, from `line` on, up to the next record; return its first line, b"" at the end."""
    begins = False
    while line and not (begins and line.startswith(_VERSION)):
        begins = line.endswith(b"\n")
        line = content.readline(_MAX_LINE_BYTES)
    return line


class _ChunkReader(io.RawIOBase):
    """Chunks of bytes as a file object."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._data = memoryview(b"")

    def readable(self) -> bool:
        """Return True, as readable file objects do."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next bytes and return their number; 0 at the end."""
        if not self._data:
            try:
                self._data = memoryview(next(self._chunks, b""))
            except EOFError:
                return 0
        size = min(len(buffer), len(self._data))
        buffer[:size] = self._data[:size]
        self._data = self._data[size:]
        return size
