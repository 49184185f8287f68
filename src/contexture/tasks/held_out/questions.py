"""A user's own questions: a file of two columns, a question and its answer, or a folder in BEIR's layout."""

import csv
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from contexture.tasks.beir.files import read_qrels, read_queries

#: The columns of the table of questions: a question with several answers has several rows.
QUESTION_COLUMNS = ["question", "answer"]
_DELIMITERS = {".tsv": "\t", ".txt": "\t", ".csv": ","}
#: Unknown names that a message lists.
_MAX_LISTED_NAMES = 3


def read_questions(path: Path) -> pd.DataFrame:
    """The table COLUMNS, one row per question and answer, in the order of the lines.

    `path` is a file of two columns, or a folder with BEIR's queries.jsonl and qrels/test.tsv; its corpus is the text.
    Raises ValueError, naming the file and the line, for what is not in the format.
    """
    rows = _read_beir(path) if path.is_dir() else _read_columns(path)
    return pd.DataFrame(rows, columns=QUESTION_COLUMNS).drop_duplicates(ignore_index=True)


def _read_beir(folder: Path) -> list[tuple[str, str]]:
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
    return rows


def _read_columns(file: Path) -> list[list[str]]:
    file_format = "A line is a question, a tab (in .csv a comma) and the document or passage that answers it."
    delimiter = _DELIMITERS.get(file.suffix.lower())
    if delimiter is None:
        raise ValueError(f"{file}: a file of questions is .tsv or .csv. {file_format}")
    rows = []
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            # Quotation marks are text in tables with tabs.
            quoting = csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
            lines = csv.reader(text, delimiter=delimiter, quoting=quoting)  # type: ignore[arg-type]
            for columns in lines:
                parts = [part.strip() for part in columns]
                if not any(parts):
                    continue
                if len(parts) != len(QUESTION_COLUMNS) or not all(parts):
                    raise ValueError(
                        f"{file}, line {lines.line_num}: {len(parts)} columns, or an empty one. {file_format}"
                    )
                if parts != QUESTION_COLUMNS:  # a header
                    rows.append(parts)
    except OSError as error:
        raise ValueError(f"{file}: cannot be read: {error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file}: is no text of two columns in UTF-8 ({error}). {file_format}") from error
    if not rows:
        raise ValueError(f"{file}: holds no question. {file_format}")
    return rows


def document_names(doc_id: str, title: str) -> list[str]:
    """Names of a document in a file of questions: its id, with or without the language, and its title."""
    return [doc_id, doc_id.partition(":")[2], *([title] if title else [])]


def describe_unknown(unknown: Iterable[str], source: str) -> str:
    """A message about answers that name no document."""
    names = sorted(unknown)
    more = f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
    return f"{source}: the text has no document {', '.join(map(repr, names[:_MAX_LISTED_NAMES]))}{more}"
