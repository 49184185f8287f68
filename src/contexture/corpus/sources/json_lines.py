"""JSON lines: a document a line, `text` and where there are any `title`, `id`, `url` and `lang`."""

import codecs
import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import HEAD_BYTES, Found, Head, compressions, inspect
from contexture.corpus.sources.lines import Line, read_lines
from contexture.corpus.sources.protocol import Row, SourceFile, Split, blank, content_name, document
from contexture.text.languages import languages_of
from contexture.text.plain import parse_text
from contexture.text.sections import one_line

SUFFIXES = compressions(".jsonl")

_LANG = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}")
# Lines of a file's beginning that its languages are told by.
_TOLD_BY = 1_000


def check(found: Sequence[Found], lang: str) -> list[SourceFile]:
    """Raises SourceError where a file's first line is no document."""
    files, passages = zip(*(_check(one, lang) for one in found), strict=True)
    return languages.settle(files, passages)


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A line is a document, blank lines in its text part paragraphs.

    Of several of one `id` (else `url`, else of the same content) the last is kept. Dropped are lines that are cut off
    ("truncated"), "too_large", "not_utf8", "malformed_json" and those without "text" ("no_text").
    """
    return functools.partial(_rows, min_characters=config.min_characters)


def _check(found: Found, lang: str) -> tuple[SourceFile, Counter[str]]:
    """The file, and the languages of its first passages where its language is to be found."""
    head = inspect(found.path)
    first = _first_record(found.path, head)
    if first is not None and not any(record["text"].strip() for record in _records(head)):
        raise SourceError(f'{found.path}: the "text" of its first lines is blank. {_FORM}')
    passages = Counter[str]()
    if lang == languages.AUTO:
        texts = [*_texts(head)]
        # Documents too short to tell one by one may tell together.
        passages = sum((languages_of([text]) for text in texts), passages) or languages_of(texts)
        if not passages and (first is None or _lang(first) is not None):
            lang = languages.UNKNOWN
    file = SourceFile(
        source="json_lines",
        path=found.path,
        name=found.name,
        bytes=head.size,
        fingerprint=head.fingerprint,
        encoding=head.encoding,
        shared="bytes" if head.encoding == "utf-8" and found.path.lower().endswith(".jsonl") else "records",
        lang=lang,
        languages=languages.several(passages),
    )
    return file, passages


def _texts(head: Head) -> Iterator[str]:
    """The texts of the first lines that do not say their language."""
    return (_encodable(record["text"]) for record in _records(head) if _lang(record) is None)


def _records(head: Head) -> Iterator[dict[str, Any]]:
    """Those of the first lines that have a text."""
    for line in head.data.split(b"\n", _TOLD_BY)[:_TOLD_BY]:
        try:
            record = _parse(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("text"), str):
            yield record


def _first_record(path: str, head: Head) -> dict[str, Any] | None:
    """The first line's record; None where the line is longer than the head."""
    line, end, _ = head.data.lstrip().partition(b"\n")
    if not end and len(head.data) >= HEAD_BYTES:
        return None
    try:
        record = _parse(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: its first line is no JSON in UTF-8 ({error}). {_FORM}") from error
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise SourceError(f'{path}: its first line is no object with a "text". {_FORM}')
    return record


_FORM = 'A line must be a document such as {"text": "…", "title": "…"}.'


def _parse(line: bytes) -> Any:
    return json.loads(line.removeprefix(codecs.BOM_UTF8).replace(b"\0", b"").decode())


def _rows(split: Split, min_characters: int) -> Iterator[Row]:
    for line in read_lines(split):
        yield _row(line, split.file, min_characters)


def _row(line: Line, file: SourceFile, min_characters: int) -> Row:
    lang = file.lang
    if line.state != "whole":
        return _lost(line, lang, line.state)
    try:
        record = _parse(line.data)
    except UnicodeDecodeError:
        return _lost(line, lang, "not_utf8")
    except (ValueError, RecursionError):
        return _lost(line, lang, "malformed_json")
    if not isinstance(record, dict):
        return _lost(line, lang, "malformed_json")
    title, text = record.get("title"), record.get("text")
    lang = _lang(record) or _found(text, file) or lang
    name = _name(record) or content_name(line.data)
    row = blank(name, lang, _clean(title) if isinstance(title, str) else "", revision=line.offset)
    if not isinstance(text, str):
        return row | {"dropped": "no_text"}
    return document(row, parse_text(_encodable(text), "blank_line", min_characters))


def _found(text: object, file: SourceFile) -> str | None:
    """Which of the file's languages, where there are several, a text is in."""
    if not file.languages or not isinstance(text, str):
        return None
    passages = languages_of([_encodable(text)])
    known = Counter({lang: count for lang, count in passages.items() if lang in file.languages})
    return languages.most(known) if known else None


def _lost(line: Line, lang: str, reason: str) -> Row:
    return blank(content_name(line.data), lang, "", reason, revision=line.offset)


def _lang(record: dict[str, Any]) -> str | None:
    lang = record.get("lang")
    return lang if isinstance(lang, str) and _LANG.fullmatch(lang) else None


def _name(record: dict[str, Any]) -> str:
    for key in ("id", "url"):
        value = record.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and (name := _clean(str(value))):
            return name
    return ""


def _clean(text: str) -> str:
    return one_line(_encodable(text))


def _encodable(text: str) -> str:
    """The text without halves of characters, which JSON can write (\\ud800) and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return text
