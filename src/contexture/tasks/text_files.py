"""Text files from outside, plain or gzipped."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast


def open_text(path: Path) -> TextIO:
    """Open a text file, plain or .gz."""
    # Only \n ends a line: sentences contain other characters that Python treats as line ends.
    opened = gzip.open if path.suffix == ".gz" else open
    return cast(TextIO, opened(path, "rt", encoding="utf-8-sig", newline="\n"))


@contextmanager
def catch_damage(path: Path) -> Iterator[None]:
    """Raise ValueError with the path if the file that the `with` block reads is damaged."""
    try:
        yield
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}); fetch it again, as UTF-8 text or gzip") from error


def parse_json(line: str) -> Any:
    """Parse a line of JSON. Raise ValueError or RecursionError if it is invalid or cannot be encoded."""
    row = json.loads(line)
    json.dumps(row, ensure_ascii=False).encode()  # raises for lone surrogates such as \ud800
    return row
