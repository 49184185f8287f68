"""JSON lines: a document a line, `text` and where there are any `title`, `id`, `url` and `lang`."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import HEAD_BYTES, Head, InputFile, compressions, inspect
from contexture.corpus.sources.protocol import Row, SourceFile, Split, blank, content_name, document, source_file
from contexture.corpus.sources.records import Record, read_records
from contexture.text.languages import languages_of
from contexture.text.paragraphs import one_line
from contexture.text.plain import parse_text

SUFFIXES = compressions(".jsonl")

_FORM = 'A line must be a document such as {"text": "…", "title": "…"}.'
_LANG = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}")
# Bytes of a line that was cut off that it is named by.
_NAMED_BYTES = 4096
# Lines of a file's beginning that its languages are detected by.
_LANGUAGE_LINES = 1_000


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """Raises SourceError where a file's first line is no document."""
    return languages.set_languages([_check(entry, lang) for entry in inputs])


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """A line is a document, blank lines in its text part paragraphs.

    Of several of one `id` (else `url`, else of the same content) the last is kept. Dropped are lines that are cut off
    ("truncated"), "too_large", "not_utf8", "malformed_json" and those without "text" ("no_text").
    """
    return partial(_rows, min_characters=config.min_characters)


def _check(entry: InputFile, lang: str) -> tuple[SourceFile, Counter[str]]:
    """The file, and the languages of its first passages where its language is to be found."""
    head = inspect(entry.path)
    first = _first_record(entry.path, head)
    records = [*_records(head)]
    if first is not None and not any(record["text"].strip() for record in records):
        raise SourceError(f'{entry.path}: the "text" of its first lines is blank. {_FORM}')
    passages = Counter[str]()
    if lang == languages.AUTO:
        texts = [_encodable(record["text"]) for record in records if _lang(record) is None]
        # Documents too short to tell one by one may tell together.
        passages = sum((languages_of([text]) for text in texts), passages) or languages_of(texts)
        if not passages and (first is None or _lang(first) is not None):
            lang = languages.UNKNOWN
    is_split = head.encoding == "utf-8" and entry.path.lower().endswith(".jsonl")
    several = languages.several(passages)
    file = source_file("json_lines", entry, head, lang, "bytes" if is_split else "records", languages=several)
    return file, passages


def _records(head: Head) -> Iterator[dict[str, Any]]:
    """Those of the first lines that have a text."""
    for line in head.data.split(b"\n", _LANGUAGE_LINES)[:_LANGUAGE_LINES]:
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


def _parse(line: bytes) -> Any:
    return json.loads(line.removeprefix(codecs.BOM_UTF8).replace(b"\0", b"").decode())


def _rows(split: Split, min_characters: int) -> Iterator[Row]:
    for line in read_records(split, b"\n"):
        if line.data if line.state == "truncated" else line.data.strip():
            yield _row(line, split.file, min_characters)


def _row(line: Record, file: SourceFile, min_characters: int) -> Row:
    if line.state in ("truncated", "too_large"):
        return _lost(line, file.lang, line.state)
    try:
        record = _parse(line.data)
    except UnicodeDecodeError:
        return _lost(line, file.lang, "not_utf8")
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return _lost(line, file.lang, "malformed_json")
    title, text = record.get("title"), record.get("text")
    lang = _lang(record) or _detect_lang(text, file) or file.lang
    name = _name(record) or content_name(line.data)
    row = blank(name, lang, _clean(title) if isinstance(title, str) else "", revision=line.offset)
    if not isinstance(text, str):
        return row | {"dropped": "no_text"}
    return document(row, parse_text(_encodable(text), "blank_line", min_characters))


def _detect_lang(text: object, file: SourceFile) -> str | None:
    """Which of the file's languages, where there are several, a text is in."""
    if not file.languages or not isinstance(text, str):
        return None
    passages = languages_of([_encodable(text)])
    known = Counter({lang: count for lang, count in passages.items() if lang in file.languages})
    return languages.most_frequent(known) if known else None


def _lost(line: Record, lang: str, reason: str) -> Row:
    data = line.data[:_NAMED_BYTES] if reason == "truncated" else line.data
    return blank(content_name(data), lang, "", reason, revision=line.offset)


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
