"""JSON lines: each line is a document with `text` and optional `title`, `id` (or BEIR's `_id`), `url` and `lang`."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from contexture.corpus.config import CorpusConfig
from contexture.corpus.errors import SourceError
from contexture.corpus.sources import languages
from contexture.corpus.sources.files import HEAD_BYTES, Head, InputFile, compressed_suffixes, read_head
from contexture.corpus.sources.protocol import (
    Row,
    SourceFile,
    Split,
    document_row,
    empty_row,
    name_by_content,
    plan_splits,
)
from contexture.corpus.sources.records import RawRecord, read_records
from contexture.text.language_codes import normalize_code
from contexture.text.languages import detect_languages
from contexture.text.paragraphs import one_line
from contexture.text.plain import parse_text

SUFFIXES = compressed_suffixes(".jsonl")

_EXPECTED_FORM = 'A line must be a document such as {"text": "…", "title": "…"}.'
_LANG_CODE = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}")
# Bytes of a truncated line that its name is computed from.
_MAX_NAME_BYTES = 4096
# More than the offset of a line needs: files up to 16 TiB.
_OFFSET_BITS = 44
# The first lines of a file, which its languages are detected from.
_LANGUAGE_LINES = 1_000


def check(inputs: Sequence[InputFile], lang: str) -> list[SourceFile]:
    """Check the first line of each file and return the files. Raises SourceError if it is not a document."""
    return languages.set_languages([_check_file(entry, lang) for entry in inputs])


def reader(files: Sequence[SourceFile], config: CorpusConfig) -> Callable[[Split], Iterator[Row]]:
    """Return the function that reads each line as a document, with blank lines between paragraphs.

    The last document of an `id` (else `_id`, else `url`, else content) is kept, in the order of `files`. Reasons to
    drop a line: "truncated", "too_large", "not_utf8", "malformed_json", and "no_text" if it has no `text`.
    """
    first_revisions = {file.path: number << _OFFSET_BITS for number, file in enumerate(files)}
    return partial(_read_rows, min_characters=config.min_characters, first_revisions=first_revisions)


def list_documents(file: SourceFile) -> Iterator[tuple[str, str]]:
    """Yield id and title of each document of a file that has an `id`, `_id` or `url`."""
    for split in plan_splits([file], 1):
        for line in read_records(split, b"\n"):
            with suppress(ValueError, RecursionError):
                record = _parse_line(line.data)
                if isinstance(record, dict) and (name := _get_name(record)):
                    title = record.get("title")
                    yield f"{_find_lang(record, file)}:{name}", _clean_line(title) if isinstance(title, str) else ""


def _check_file(entry: InputFile, lang: str) -> tuple[SourceFile, Counter[str]]:
    """Return the checked file, and how many of its first passages are in each language if `lang` is AUTO."""
    head = read_head(entry.path)
    first = _first_record(entry.path, head)
    records = [*_first_documents(head)]
    if first is not None and not any(record["text"].strip() for record in records):
        raise SourceError(f'{entry.path}: the "text" of its first lines is blank. {_EXPECTED_FORM}')
    passages = Counter[str]()
    if lang == languages.AUTO:
        texts = [_drop_lone_surrogates(record["text"]) for record in records if _get_lang(record) is None]
        # Documents that are too short alone may show their language together.
        passages = sum((detect_languages([text]) for text in texts), passages) or detect_languages(texts)
        if not passages and (first is None or _get_lang(first) is not None):
            lang = languages.UNKNOWN
    is_split = head.encoding == "utf-8" and entry.path.lower().endswith(".jsonl")
    several = languages.list_frequent_languages(passages)
    file = SourceFile.from_head("json_lines", entry, head, lang, "bytes" if is_split else "records", languages=several)
    return file, passages


def _first_documents(head: Head) -> Iterator[dict[str, Any]]:
    """Yield the documents in the first lines of a head, without lines that are no document."""
    for line in head.data.split(b"\n", _LANGUAGE_LINES)[:_LANGUAGE_LINES]:
        try:
            record = _parse_line(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("text"), str):
            yield record


def _first_record(path: str, head: Head) -> dict[str, Any] | None:
    """Return the document of a file's first line; None if the line is longer than the head.

    Raises SourceError if the line is not a document.
    """
    line, end, _ = head.data.lstrip().partition(b"\n")
    if not end and len(head.data) >= HEAD_BYTES:
        return None
    try:
        record = _parse_line(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: its first line is not JSON in UTF-8 ({error}). {_EXPECTED_FORM}") from error
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise SourceError(f'{path}: its first line is not an object with a "text". {_EXPECTED_FORM}')
    return record


def _parse_line(line: bytes) -> Any:
    """Return the JSON value of a line, without byte-order mark and NUL bytes."""
    return json.loads(line.removeprefix(codecs.BOM_UTF8).replace(b"\0", b"").decode())


def _read_rows(split: Split, min_characters: int, first_revisions: Mapping[str, int]) -> Iterator[Row]:
    """Yield the row of each line of a split, without blank lines."""
    first_revision = first_revisions[split.file.path]
    for line in read_records(split, b"\n"):
        if line.data if line.state == "truncated" else line.data.strip():
            yield _build_row(line, split.file, min_characters) | {"revision": first_revision + line.offset}


def _build_row(line: RawRecord, file: SourceFile, min_characters: int) -> Row:
    """Return the row of the document on a line, or a row with the reason to drop the line."""
    if line.state in ("truncated", "too_large"):
        return _dropped_row(line, file.lang, line.state)
    try:
        record = _parse_line(line.data)
    except UnicodeDecodeError:
        return _dropped_row(line, file.lang, "not_utf8")
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        return _dropped_row(line, file.lang, "malformed_json")
    title, text = record.get("title"), record.get("text")
    name = _get_name(record) or name_by_content(line.data)
    row = empty_row(name, _find_lang(record, file), _clean_line(title) if isinstance(title, str) else "")
    if not isinstance(text, str):
        return row | {"dropped": "no_text"}
    return document_row(row, parse_text(_drop_lone_surrogates(text), "blank_line", min_characters))


def _find_lang(record: dict[str, Any], file: SourceFile) -> str:
    """Return the `lang` of a document, or which of the file's languages its text is in; by default the file's."""
    lang, text = _get_lang(record), record.get("text")
    if lang or not file.languages or not isinstance(text, str):
        return lang or file.lang
    passages = detect_languages([_drop_lone_surrogates(text)])
    known = Counter({lang: count for lang, count in passages.items() if lang in file.languages})
    return languages.most_frequent(known) if known else file.lang


def _dropped_row(line: RawRecord, lang: str, reason: str) -> Row:
    """Return the row of an unusable line, with the reason to drop it."""
    data = line.data[:_MAX_NAME_BYTES] if reason == "truncated" else line.data
    return empty_row(name_by_content(data), lang, "", reason)


def _get_lang(record: dict[str, Any]) -> str | None:
    """Return the normalized `lang` of a document if it is a language code, else None."""
    lang = record.get("lang")
    return normalize_code(lang) if isinstance(lang, str) and _LANG_CODE.fullmatch(lang) else None


def _get_name(record: dict[str, Any]) -> str:
    """Return the `id` of a document, else its `_id`, else its `url`, else ""."""
    for key in ("id", "_id", "url"):
        value = record.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and (name := _clean_line(str(value))):
            return name
    return ""


def _clean_line(text: str) -> str:
    """Return the text on one line, without lone surrogates and invisible characters."""
    return one_line(_drop_lone_surrogates(text))


def _drop_lone_surrogates(text: str) -> str:
    """Return the text without lone surrogates, which JSON can represent (\\ud800) but UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "ignore")
    return text
