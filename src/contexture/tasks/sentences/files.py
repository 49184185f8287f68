"""Files of sentences in SentEval's layout: found, decoded, counted, cut into fields.

One rule of encoding for all of them: UTF-8, with or without a mark, and ISO 8859-1 for a file that is no valid UTF-8
(the originals of MR, SUBJ, MPQA and TREC). Only a line feed ends a line: some sentences hold other characters that
Python takes for line ends. Outer white space belongs to no sentence, and quotation marks are ordinary characters.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.retrieval.reqa_files import iter_lines

#: Whether every file must have as many rows as were published, or may be another set in the same format.
Counts = Literal["published", "any"]

_REMEDY = (
    "Name the folder that SentEval calls data/downstream, with the files of this task under the paths of its download "
    "scripts (plain or gzipped), or leave the task out."
)


def find(benchmark: str, folder: Path, relative: str) -> Path:
    """The file `relative` of a folder, or the same with `.gz` behind it; BenchmarkMissing if neither is there."""
    for path in (folder / relative, folder / f"{relative}.gz"):
        if path.is_file():
            return path
    raise BenchmarkMissing(benchmark, folder / relative, _REMEDY)


def read_lines(path: Path, published: int | None = None, header: int = 0) -> list[str]:
    """The lines of a file, gzipped or not, without their ends; line n is item n − 1.

    ValueError for a file that is damaged, empty, or has another number of rows below its header lines than published.
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
    """Raise ValueError if a file has no rows, or more or fewer than published."""
    if published is not None and count != published:
        raise ValueError(
            f"{path} has {max(count, 0):,} {noun} where the published file has {published:,}; fetch it again, or set "
            'counts to "any" if it is meant to be another set in this format'
        )
    if count < 1:
        raise ValueError(f"{path} has no {noun}; fetch it again, or leave the task out")


def read_columns(path: Path, columns: Sequence[str], published: int | None) -> list[list[str]]:
    """The named columns of a tab-separated file with a header; row n stands in line n + 2.

    ValueError, see `read_lines`, and for a missing column or a line with more or fewer fields than the header.
    """
    header, *rows = (line.split("\t") for line in read_lines(path, published, header=1))
    names = [name.strip() for name in header]
    if absent := [column for column in columns if column not in names]:
        raise ValueError(
            f"{path}, line 1: no column {', '.join(absent)}; the first line must name the tab-separated columns, "
            f"{', '.join(columns)} among them"
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(row)} fields where the header has {len(header)}; "
                "remove tabs and line breaks inside the fields"
            )
    positions = [names.index(column) for column in columns]
    return [[row[position].strip() for position in positions] for row in rows]


def label(path: Path, number: int, value: str, labels: Sequence[str]) -> int:
    """The position of a value among the labels of a task; ValueError if it is none of them."""
    if value not in labels:
        raise ValueError(f"{path}, line {number}: the label is {value!r}; it must be one of {', '.join(labels)}")
    return labels.index(value)


def score(path: Path, number: int, value: str, low: float, high: float) -> float:
    """A score; ValueError if the value is no number from `low` to `high`."""
    try:
        points = float(value)
    except ValueError:
        points = math.nan
    if not low <= points <= high:
        raise ValueError(f"{path}, line {number}: the score is {value!r}; it must be a number from {low:g} to {high:g}")
    return points


def scored_sentence(path: Path, number: int, text: str) -> str:
    """A sentence of a pair that has a score, without outer white space.

    ValueError if it is empty: without the pair the correlation would be of another set.
    """
    if not text.strip():
        raise ValueError(
            f"{path}, line {number}: an empty sentence in a pair with a score; fetch the file again, or give the line "
            "its two sentences"
        )
    return text.strip()
