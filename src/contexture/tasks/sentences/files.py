"""Files of sentences in SentEval's layout: search, decoding, row counts and fields.

Text is UTF-8, with or without a byte order mark, or ISO 8859-1 if it is not valid UTF-8 (the originals of MR, SUBJ,
MPQA and TREC). Only a line feed ends a line, because some sentences contain other line separators. Sentences are
stripped; quotation marks are ordinary characters.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.retrieval.reqa_files import iter_lines

#: Whether files must have the published number of rows, or may be another set in the same format.
RowCounts = Literal["published", "any"]

_REMEDY = (
    "Name SentEval's folder data/downstream, with the files of this task (plain or gzipped) where its download scripts "
    "put them, or leave the task out."
)


def find_file(benchmark: str, folder: Path, relative: str) -> Path:
    """Return the file `relative` of a folder, plain or with `.gz`; raises BenchmarkMissing if both are absent."""
    for path in (folder / relative, folder / f"{relative}.gz"):
        if path.is_file():
            return path
    raise BenchmarkMissing(benchmark, folder / relative, _REMEDY)


def read_lines(path: Path, published: int | None = None, header: int = 0) -> list[str]:
    """Return the lines of a file, plain or gzipped; line n is item n − 1.

    Raises ValueError for a damaged or empty file, and for another number of rows (below the header) than published.
    """
    data = b"".join(line for _, line in iter_lines(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    rows = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
    check_rows(path, len(rows) - header, published)
    return rows


def check_rows(path: Path, count: int, published: int | None, noun: str = "rows") -> None:
    """Raise ValueError if a file has no rows, or another number (`count`) than the published file."""
    if published is not None and count != published:
        raise ValueError(
            f"{path} has {max(count, 0):,} {noun} where the published file has {published:,}; fetch it again, or set "
            'row_counts (--counts) to "any" for another set in this format'
        )
    if count < 1:
        raise ValueError(f"{path} has no {noun}; fetch it again, or leave the task out")


def read_columns(path: Path, columns: Sequence[str], published: int | None) -> list[list[str]]:
    """Return the named columns of a tab-separated file with a header; row n is line n + 2.

    Raises ValueError as `read_lines`, and for a missing column and a line with a wrong number of fields.
    """
    header, *rows = (line.split("\t") for line in read_lines(path, published, header=1))
    names = [name.strip() for name in header]
    if absent := [column for column in columns if column not in names]:
        raise ValueError(
            f"{path}, line 1: no column {', '.join(absent)}; the header must name the tab-separated columns, "
            f"including {', '.join(columns)}"
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(row)} fields, but the header has {len(header)}; "
                "remove tabs and line breaks inside the fields"
            )
    positions = [names.index(column) for column in columns]
    return [[row[position].strip() for position in positions] for row in rows]


def parse_label(path: Path, number: int, value: str, labels: Sequence[str]) -> int:
    """Return the position of `value` in `labels`; raises ValueError, with file and line, if it is missing."""
    if value not in labels:
        raise ValueError(f"{path}, line {number}: the label is {value!r}; it must be one of {', '.join(labels)}")
    return labels.index(value)


def parse_score(path: Path, number: int, value: str, low: float, high: float) -> float:
    """Return `value` as a number; raises ValueError, with file and line, unless it is from `low` to `high`."""
    try:
        points = float(value)
    except ValueError:
        points = math.nan
    if not low <= points <= high:
        raise ValueError(f"{path}, line {number}: the score is {value!r}; it must be a number from {low:g} to {high:g}")
    return points


def parse_sentence(path: Path, number: int, text: str) -> str:
    """Return a stripped sentence of a scored pair.

    Raises ValueError if it is empty: the correlation would be that of another set.
    """
    if not text.strip():
        raise ValueError(
            f"{path}, line {number}: an empty sentence in a pair with a score; fetch the file again, or give the line "
            "its two sentences"
        )
    return text.strip()
