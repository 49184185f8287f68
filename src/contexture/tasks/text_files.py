"""Text files from outside, plain or gzipped."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast


def open_text(path: Path) -> TextIO:
    """Open a text file, plain or .gz, for reading as UTF-8."""
    # Only \n ends a line: sentences contain other characters that Python treats as line ends.
    opened = gzip.open if path.suffix == ".gz" else open
    return cast(TextIO, opened(path, "rt", encoding="utf-8-sig", newline="\n"))


@contextmanager
def catch_damage(path: Path) -> Iterator[None]:
    """Turn errors of reading a damaged file in the `with` block into ValueError with its path."""
    try:
        yield
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}); fetch it again, as UTF-8 text or gzip") from error


def parse_json(line: str) -> Any:
    """Return the value of a line of JSON. Raise ValueError or RecursionError if it is invalid or cannot be encoded."""
    row = json.loads(line)
    json.dumps(row, ensure_ascii=False).encode()  # raises for lone surrogates such as \ud800
    return row
