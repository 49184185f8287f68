"""Files of lines that others made: plain or gzipped, whole or damaged."""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast


def open_text(path: Path) -> TextIO:
    """Open a file of lines, plain or .gz."""
    # Only \n ends a line: sentences hold other characters that Python would take for line ends.
    opened = gzip.open if path.suffix == ".gz" else open
    return cast(TextIO, opened(path, "rt", encoding="utf-8-sig", newline="\n"))


@contextmanager
def catch_damage(path: Path) -> Iterator[None]:
    """Raise ValueError if reading the file in the block finds damage."""
    try:
        yield
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged ({error}); fetch it again, as UTF-8 text or gzip") from error


def parse_json(line: str) -> Any:
    """Parse a line of JSON; ValueError or RecursionError if it is none, or cannot be written again."""
    row = json.loads(line)
    json.dumps(row, ensure_ascii=False).encode()  # half a character, such as \ud800, cannot
    return row
