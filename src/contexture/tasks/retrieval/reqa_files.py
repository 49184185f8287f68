"""Find, read, parse and check benchmark files."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from contexture.tasks.missing import BenchmarkMissing

T = TypeVar("T")

FETCH_AGAIN = "download the file again, or leave it out"
_TYPE_NAMES = {str: "text", int: "whole number", list: "list", dict: "object"}


def find_files(benchmark: str, source: Path | Sequence[Path], suffix: str, remedy: str) -> list[Path]:
    """Return the given files, or those in a folder that end in `suffix` or `suffix`.gz, sorted by name.

    Raises BenchmarkMissing if there are none, or a given file is missing.
    """
    if isinstance(source, Path) and source.is_dir():
        files = sorted(path for path in source.iterdir() if path.name.endswith((suffix, f"{suffix}.gz")))
        # Hidden files are unfinished downloads or files of the operating system.
        files = [path for path in files if path.is_file() and not path.name.startswith(".")]
    else:
        files = [source] if isinstance(source, Path) else list(source)
    absent = [path for path in files if not path.is_file()]
    if absent or not files:
        pattern = source / f"*{suffix}" if isinstance(source, Path) else Path(f"*{suffix}")
        raise BenchmarkMissing(benchmark, absent[0] if absent else pattern, remedy)
    return files


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number from 1, line) of a plain or gzipped file; raise ValueError for damaged compressed data."""
    number = 0
    try:
        with _open_file(path) as file:
            for number, line in enumerate(file, start=1):
                yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}, after line {number}: damaged or cut off ({error}); {FETCH_AGAIN}") from error


def parse_json(path: Path, data: bytes, line: int = 1) -> Any:
    """Return parsed JSON; raise ValueError, with file and line, for other content. `line` is that of its start."""
    try:
        parsed = json.loads(data)
        if b"\\u" in data:
            json.dumps(parsed, ensure_ascii=False).encode()  # raises for lone surrogates such as \ud800
        return parsed
    except json.JSONDecodeError as error:
        position = f"{path}, line {line + error.lineno - 1}, column {error.colno}"
        raise ValueError(f"{position}: broken JSON ({error.msg}); {FETCH_AGAIN}") from error
    except UnicodeDecodeError as error:
        last = line + data.count(b"\n", 0, error.start)
        position = f"{path}, line {last}, byte {error.start}"
        raise ValueError(f"{position}: not UTF-8 ({error.reason}); {FETCH_AGAIN}") from error
    except RecursionError as error:
        raise ValueError(f"{path}, line {line}: JSON is nested too deeply; {FETCH_AGAIN}") from error
    except UnicodeEncodeError as error:
        raise ValueError(f"{path}, line {line}: half of a character ({error.reason}); {FETCH_AGAIN}") from error
    except ValueError as error:  # a number of thousands of digits
        raise ValueError(f"{path}, line {line}: {error}; {FETCH_AGAIN}") from error


def get_field(record: Any, key: str, kind: type[T], position: str, layout: str) -> T:
    """Return `record[key]`; raise ValueError, with position and layout, if it is missing or has another type."""
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        raise ValueError(f"{position}: no {_TYPE_NAMES[kind]} under the key {key!r}; {layout}")
    return value


def _open_file(path: Path) -> BinaryIO:
    """Open a file for reading bytes, decompressed if its name ends in .gz."""
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
