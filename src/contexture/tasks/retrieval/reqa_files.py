"""Files of questions: listed, opened, parsed, and checked with errors that say how to repair them."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from contexture.tasks.missing import BenchmarkMissing

T = TypeVar("T")

FETCH_AGAIN = "fetch the file again, or leave it out"
_TYPE_NAMES = {str: "text", int: "whole number", list: "list", dict: "object"}


def find_files(benchmark: str, source: Path | Sequence[Path], suffix: str, remedy: str) -> list[Path]:
    """The files to read: those named, or those in a folder that end in `suffix`, gzipped or not, sorted by name.

    Raises BenchmarkMissing if there is none, or one that is named is absent.
    """
    if isinstance(source, Path) and source.is_dir():
        files = sorted(path for path in source.iterdir() if path.name.endswith((suffix, f"{suffix}.gz")))
        # Hidden ones are what another program is still writing, or notes of the system.
        files = [path for path in files if path.is_file() and not path.name.startswith(".")]
    else:
        files = [source] if isinstance(source, Path) else list(source)
    absent = [path for path in files if not path.is_file()]
    if absent or not files:
        pattern = source / f"*{suffix}" if isinstance(source, Path) else Path(f"*{suffix}")
        raise BenchmarkMissing(benchmark, absent[0] if absent else pattern, remedy)
    return files


def iter_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, gzipped or not, with their numbers from 1; ValueError for damaged compressed data."""
    number = 0
    try:
        with _open_file(path) as file:
            for number, line in enumerate(file, start=1):
                yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}, after line {number}: damaged or cut off ({error}); {FETCH_AGAIN}") from error


def parse_json(path: Path, data: bytes, line: int = 1) -> Any:
    """JSON text that starts in a line of a file; ValueError if it is no JSON in UTF-8."""
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        position = f"{path}, line {line + error.lineno - 1}, column {error.colno}"
        raise ValueError(f"{position}: broken JSON ({error.msg}); {FETCH_AGAIN}") from error
    except UnicodeDecodeError as error:
        last = line + data.count(b"\n", 0, error.start)
        position = f"{path}, line {last}, byte {error.start}"
        raise ValueError(f"{position}: no UTF-8 ({error.reason}); {FETCH_AGAIN}") from error
    except RecursionError as error:
        raise ValueError(f"{path}, line {line}: JSON nested too deep for any data set; {FETCH_AGAIN}") from error


def get_field(record: Any, key: str, kind: type[T], position: str, layout: str) -> T:
    """`record[key]`; ValueError, naming position, key and layout, if it is missing or not of the kind."""
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        raise ValueError(f"{position}: no {_TYPE_NAMES[kind]} under the key {key!r}; {layout}")
    return value


def _open_file(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))
