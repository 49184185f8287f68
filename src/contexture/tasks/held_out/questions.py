"""A user's own questions: a file of two columns, a question and what answers it, or a folder in BEIR's layout."""

import csv
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from contexture.tasks.beir.files import read_qrels, read_queries

#: The columns of the table of questions: a question may stand in several rows.
COLUMNS = ["question", "answer"]
_DELIMITERS = {".tsv": "\t", ".txt": "\t", ".csv": ","}


class _Tabs(csv.excel_tab):
    quoting = csv.QUOTE_NONE


#: Names that are shown of those that are not known.
_SHOWN = 3


def read_questions(place: Path) -> pd.DataFrame:
    """The table COLUMNS, a row a question and answer, in the order of the file.

    `place` is a file of two columns, or a folder with BEIR's queries.jsonl and qrels/test.tsv; its corpus is the text.
    Raises ValueError, naming the file and the line, for what is not in the format.
    """
    found = _judged(place) if place.is_dir() else _listed(place)
    return found.drop_duplicates(ignore_index=True)


def _judged(folder: Path) -> pd.DataFrame:
    try:
        queries, qrels = read_queries(folder / "queries.jsonl"), read_qrels(folder / "qrels" / "test.tsv")
    except OSError as error:
        raise ValueError(f"{folder}: a folder of questions has queries.jsonl and qrels/test.tsv ({error})") from error
    rows = [
        (queries[query], answer)
        for query, answers in qrels.items()
        if query in queries
        for answer, score in answers.items()
        if score > 0
    ]
    if not rows:
        raise ValueError(f"{folder}: qrels/test.tsv names no answer to any query of queries.jsonl")
    return pd.DataFrame(rows, columns=COLUMNS)


def _listed(file: Path) -> pd.DataFrame:
    form = "A line is a question, a tab (in .csv a comma) and the document or passage that answers it."
    if file.suffix.lower() not in _DELIMITERS:
        raise ValueError(f"{file}: a file of questions is .tsv or .csv. {form}")
    rows = []
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            delimiter = _DELIMITERS[file.suffix.lower()]
            # Quotes of a question need no care in tables with tabs.
            lines = csv.reader(text, csv.excel if delimiter == "," else _Tabs)
            for columns in lines:
                parts = [part.strip() for part in columns]
                if not any(parts):
                    continue
                if len(parts) != len(COLUMNS) or not all(parts):
                    raise ValueError(f"{file}, line {lines.line_num}: {len(parts)} columns, or an empty one. {form}")
                if parts != COLUMNS:  # a header
                    rows.append(parts)
    except OSError as error:
        raise ValueError(f"{file}: cannot be read: {error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file}: is no text of two columns in UTF-8 ({error}). {form}") from error
    if not rows:
        raise ValueError(f"{file}: holds no question. {form}")
    return pd.DataFrame(rows, columns=COLUMNS)


def names_of(doc_id: str, title: str) -> list[str]:
    """What a document may be called in a file of questions: by its id, with or without the language, or its title."""
    return [doc_id, doc_id.partition(":")[2], *([title] if title else [])]


def told_unknown(unknown: Iterable[str], place: str) -> str:
    """What is said of answers that name no document."""
    names = sorted(unknown)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{place}: the text has no document {', '.join(map(repr, names[:_SHOWN]))}{more}"
