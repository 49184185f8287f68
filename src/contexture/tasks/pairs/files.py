"""Reader of published sets of labelled sentence pairs, by headers, keys and file names.

It knows the columns and keys of SNLI, MultiNLI, QQP and SciTail. Files without a header are read by their number of
columns: sentence, sentence, label (SciTail), or label, sentence, sentence, id (QQP as split by Wang et al., 2017). A
test part with two columns has no labels (XTREME).
"""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TextIO

import pandas as pd

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.text_files import catch_damage, open_text, parse_json

#: Headers and keys of the two sentences and of the label.
SENTENCE_KEYS = (("sentence1", "question1", "premise"), ("sentence2", "question2", "hypothesis"))
LABEL_KEYS = ("gold_label", "is_duplicate", "label")
#: Their columns in files without a header, by the number of columns; two columns: a test part without labels.
COLUMN_POSITIONS: dict[int, tuple[int | None, ...]] = {2: (0, 1, None), 3: (0, 1, 2), 4: (1, 2, 0)}
#: Values of missing labels: no agreement, or hidden.
MISSING_LABELS = ("", "-", "-1", "hidden")
#: Columns of a set.
COLUMNS = ["part", "genres", "first", "second", "label"]
#: Part of files whose names have no part; the rows are split later.
WHOLE = "whole"
#: File name suffixes, by preference.
SUFFIXES = (".jsonl", ".tsv", ".txt")

_PART = re.compile(r"(?<![a-z])(train|dev|valid|validation|test)(?![a-z])")
_GENRES = re.compile(r"(?<![a-z])(mismatched|matched)(?![a-z])")
#: Longer labels are sentences in the wrong column.
_MAX_LABEL_CHARS = 30
_REMEDY = (
    "Name the folder of SNLI, MultiNLI, QQP or SciTail, with a file for each part (…train…, …dev…, …test…; .jsonl, "
    ".tsv or .txt, plain or .gz), or the files."
)


def read_set(name: str, source: str | list[str]) -> pd.DataFrame:
    """Return all labelled pairs of a set: a folder, a file, or a list of files.

    There is one row per pair, in file order: `part` (train, dev, test or whole), `genres` (matched or mismatched for
    MultiNLI, else ""), `first`, `second`, and `label` ("" if missing). Raises BenchmarkMissing for absent files, and
    ValueError, naming file, line and remedy, for another format.
    """
    files = sorted(_find_files(name, source).items())
    tables = [read_rows(path).assign(part=part, genres=genres) for (part, genres), path in files]
    return pd.concat(tables, ignore_index=True)[COLUMNS]


def read_rows(path: Path) -> pd.DataFrame:
    """Return the pairs of a file as a table of `first`, `second` and `label`; raises ValueError as `read_set`."""
    with catch_damage(path), open_text(path) as file:
        return pd.DataFrame(_read_rows(path, file), columns=["first", "second", "label"], dtype=object)


def _find_files(name: str, source: str | list[str]) -> dict[tuple[str, str], Path]:
    """Return (part, genres) → file of a set, by the files' names."""
    paths = [Path(source)] if isinstance(source, str) else [Path(path) for path in source]
    for path in paths:
        if not path.exists():
            raise BenchmarkMissing(name, path, _REMEDY)
    files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    known = sorted(
        (file for file in files if _suffix(file) in SUFFIXES), key=lambda file: SUFFIXES.index(_suffix(file))
    )
    by_part: dict[tuple[str, str], Path] = {}
    for file in known:
        if part := part_from_name(file):
            genres = _GENRES.search(file.name.lower())
            key = part, genres[1] if genres else ""
            if file in paths and by_part.get(key) in paths:
                raise ValueError(f"{name}: {by_part[key]} and {file} are both part {part}; name one")
            by_part.setdefault(key, file)
    if by_part:
        return by_part
    # A set without parts is one file. Text files in folders, such as a README, are ignored.
    whole = [file for file in known if file in paths or _suffix(file) != ".txt"]
    if len(whole) != 1:
        raise BenchmarkMissing(name, paths[0], _REMEDY)
    return {(WHOLE, ""): whole[0]}


def part_from_name(file: Path) -> str:
    """Return the part (train, dev or test) in a file's name; "" if it names none."""
    part = _PART.search(file.name.lower())
    return part[1].replace("validation", "valid").replace("valid", "dev") if part else ""


def _suffix(file: Path) -> str:
    """Return the suffix of a file in small letters, without .gz."""
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def _read_rows(path: Path, file: TextIO) -> Iterator[tuple[str, str, str]]:
    """Yield first sentence, second sentence and label of each row of a file, "" for a missing label."""
    lines = ((number, line.rstrip("\r\n")) for number, line in enumerate(file, start=1))
    first_line = next(((number, line) for number, line in lines if line.strip()), None)
    if first_line is None:
        raise ValueError(f"{path} is empty; fetch it again")
    read = _json_rows if first_line[1].startswith("{") else _table_rows
    for number, row in read(path, chain([first_line], lines)):
        first, second, label = (value.strip() for value in row)
        if len(label) > _MAX_LABEL_CHARS:
            raise ValueError(
                f"{path}, line {number}: the label is {label!r}; it must be a word or a number; order the "
                "columns as sentence, sentence, label, or add a header"
            )
        yield first, second, "" if label in MISSING_LABELS else label


def _json_rows(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield line number, and both sentences and label, of each line of a JSON lines file."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            row = parse_json(line)
            texts = [next(row[key] for key in names if key in row) for names in SENTENCE_KEYS]
        except (ValueError, StopIteration, RuntimeError, TypeError) as error:
            raise ValueError(
                f"{path}, line {number}: not a JSON object with sentence1 and sentence2 ({error}); fetch the file again"
            ) from None
        label = next((row[key] for key in LABEL_KEYS if key in row), None)
        yield number, ["" if value is None else str(value) for value in (*texts, label)]


def _table_rows(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Yield line number, and both sentences and label, of each row of tab-separated lines."""
    start, line = next(lines)
    header = line.split("\t")
    columns = [
        next((header.index(name) for name in names if name in header), None) for names in (*SENTENCE_KEYS, LABEL_KEYS)
    ]
    if columns[0] is not None and columns[1] is not None:
        positions, split_rows = columns, "question1" in header
    elif len(header) in COLUMN_POSITIONS and (len(header) > 2 or part_from_name(path) == "test"):
        positions, split_rows = list(COLUMN_POSITIONS[len(header)]), False
        lines = chain([(start, line)], lines)
    else:
        raise ValueError(
            f"{path}, line {start}: {len(header)} columns, and no header with sentence1 and sentence2 (or question1 "
            "and question2); add a header, or keep only sentence, sentence and label"
        )
    for number, fields in _join_rows(path, lines, len(header), split_rows):
        yield number, ["" if position is None else fields[position] for position in positions]


def _join_rows(
    path: Path, lines: Iterator[tuple[int, str]], width: int, split_rows: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of each row of tab-separated lines; ValueError unless it has `width` fields.

    With `split_rows` (Quora's questions), a row continues on the next line until it has all fields, and quoted fields
    are unquoted.
    """
    fields: list[str] = []
    number = 0
    for number, line in lines:
        if not line and not fields:
            continue
        new = line.split("\t")
        fields = [*fields[:-1], f"{fields[-1]} {new[0]}", *new[1:]] if fields else new
        if len(fields) < width and split_rows:
            continue
        if len(fields) != width:
            break
        yield number, [_unquote(field) for field in fields] if split_rows else fields
        fields = []
    if fields:
        raise ValueError(
            f"{path}, line {number}: {len(fields)} fields instead of {width}; fetch the file again, or "
            "remove tabs and line breaks inside the fields"
        )


def _unquote(field: str) -> str:
    """Return a quoted field without its quotation marks, and another field unchanged."""
    inside = field[1:-1].replace('""', "")
    quoted = len(field) > 1 and field[0] == field[-1] == '"' and '"' not in inside
    return field[1:-1].replace('""', '"') if quoted else field
