"""Common Crawl's WET files: the text of web pages, a WARC record each."""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import Found, compressions, inspect, stream
from contexture.corpus.sources.protocol import MAX_DOCUMENT, Row, SourceFile, Split, blank, content_name, document
from contexture.text.language_codes import two_letters
from contexture.text.languages import languages_of
from contexture.text.plain import parse_text
from contexture.text.sections import one_line

SUFFIXES = compressions(".wet")

_VERSION = b"WARC/"
_HEADER_BYTES = 1 << 16
_TITLE_CHARACTERS = 200


class Record(NamedTuple):
    """A record's headers, by their names in lower case, its content, and why it is lost if it is."""

    headers: dict[str, str]
    content: bytes
    lost: str | None = None


def check(found: Sequence[Found], lang: str) -> list[SourceFile]:
    """`lang` is that of the pages whose language was not identified; AUTO: found by their text.

    Raises SourceError where a file is no WARC.
    """
    return [_check(one, lang) for one in found]


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A page is a document named by its address, a line a paragraph, the first line its title.

    Of several copies of a page the newest is kept. Dropped are pages that are cut off ("truncated"), "too_large" and
    "not_utf8", and stretches that are no records ("malformed_record").
    """
    return functools.partial(_rows, min_characters=config.min_characters)


def _check(found: Found, lang: str) -> SourceFile:
    head = inspect(found.path)
    if not head.data.lstrip().startswith(_VERSION):
        start = head.data[:40].decode("utf-8", "replace")
        raise SourceError(
            f"{found.path}: is no WET file: it does not start with WARC/1.0 but {start!r}. "
            f"Such files are the *.warc.wet.gz of a crawl of Common Crawl."
        )
    return SourceFile(
        source="wet",
        path=found.path,
        name=found.name,
        bytes=head.size,
        fingerprint=head.fingerprint,
        encoding=head.encoding,
        shared="records",
        lang=lang,
    )


def _rows(split: Split, min_characters: int) -> Iterator[Row]:
    pages = (record for record in records(stream(split.file.path, split.file.encoding)) if _is_page(record))
    for number, record in enumerate(pages):
        if number % split.of == split.part:
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
        text = record.content.decode()
    except UnicodeDecodeError:
        text, record = "", record._replace(lost=record.lost or "not_utf8")
    lines = text.lstrip().partition("\n")
    if identified.isascii() and identified.isalpha():
        lang = two_letters(identified)
    elif lang == languages.AUTO:
        passages = languages_of(text.splitlines())
        lang = languages.most(passages) if passages else languages.UNKNOWN
    row = blank(
        name,
        lang,
        one_line(lines[0])[:_TITLE_CHARACTERS] if record.lost is None else "",
        record.lost,
        int(date or 0),
    )
    return row if record.lost else document(row, parse_text(text, "line", min_characters))


def records(chunks: Iterator[bytes]) -> Iterator[Record]:
    """The records of a WARC file; content that ends with an EOFError is cut off."""
    content = _Content(chunks)
    while (line := content.line()) is not None:
        if not line.strip():
            continue
        if not line.startswith(_VERSION):
            yield Record({}, line, "malformed_record")
            content.skip_to(_VERSION)
            continue
        headers = _headers(content)
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 16):
            yield Record(headers, b"", "truncated" if content.ended else "malformed_record")
            content.skip_to(_VERSION)
            continue
        data = content.take(int(length))
        if data is None:
            yield Record(headers, b"", "truncated" if content.ended else "too_large")
        else:
            yield Record(headers, data)


def _headers(content: "_Content") -> dict[str, str]:
    headers: dict[str, str] = {}
    while (line := content.line()) and line.strip():
        name, colon, value = line.decode("utf-8", "replace").partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    return headers


class _Content:
    """Content in chunks, taken by lines and by lengths."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._data, self._start = b"", 0
        self.ended = False

    def _more(self) -> bool:
        """Read on; False at the end."""
        try:
            data = next(self._chunks, b"")
        except EOFError:
            data = b""
        self._data, self._start = self._data[self._start :] + data, 0
        self.ended = self.ended or not data
        return bool(data)

    def line(self) -> bytes | None:
        """The next line, or its beginning where it is longer than any header; None at the end."""
        searched = self._start
        while True:
            found = self._data.find(b"\n", searched)
            if found >= 0 or len(self._data) - self._start > _HEADER_BYTES:
                end = found + 1 if found >= 0 else len(self._data)
                break
            searched = len(self._data) - self._start
            if not self._more():
                end = len(self._data)
                break
        line, self._start = self._data[self._start : end], end
        return line or None

    def take(self, length: int) -> bytes | None:
        """The next bytes; None where they are too many to keep, or more than there are."""
        if length > MAX_DOCUMENT:
            while length > len(self._data) - self._start:
                length -= len(self._data) - self._start
                self._start = len(self._data)
                if not self._more():
                    return None
            self._start += length
            return None
        pieces, missing = [], length
        while missing > (there := len(self._data) - self._start):
            pieces.append(self._data[self._start :])
            missing -= there
            self._start = len(self._data)
            if not self._more():
                return None
        pieces.append(self._data[self._start : self._start + missing])
        self._start += missing
        return b"".join(pieces)

    def skip_to(self, start: bytes) -> None:
        """Go on to the next line that starts so, or to the end."""
        mark = b"\n" + start
        while True:
            # From the line's end before: the line that was taken last may be the one right before the mark.
            found = self._data.find(mark, max(0, self._start - 1))
            if found >= 0:
                self._start = found + 1
                return
            self._start = max(self._start, len(self._data) - len(mark) + 1)
            if not self._more():
                self._start = len(self._data)
                return
