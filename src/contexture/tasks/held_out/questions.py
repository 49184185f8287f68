"""Read a user's questions from a file with two columns, or from a folder of BEIR or TREC."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from contexture.tasks.beir.files import read_qrels, read_queries, read_topics

#: Columns of the table of questions; a question with several answers has several rows.
QUESTION_COLUMNS = ["question", "answer"]
_DELIMITERS = {".tsv": "\t", ".txt": "\t", ".csv": ","}
#: Unknown answers that a message lists.
_MAX_LISTED_NAMES = 3


def read_questions(path: Path) -> pd.DataFrame:
    """Return QUESTION_COLUMNS with one row per question and answer, in file order.

    `path` is a file with two columns, or a folder in BEIR's layout (queries.jsonl, qrels/test.tsv) or TREC's
    (topics.tsv, qrels.txt). Raises ValueError for a line in another format.
    """
    rows = _read_judged(path) if path.is_dir() else _read_columns(path)
    return pd.DataFrame(rows, columns=QUESTION_COLUMNS).drop_duplicates(ignore_index=True)


def _read_judged(folder: Path) -> list[tuple[str, str]]:
    """Return question and relevant document of all judgements in a folder, in BEIR's layout or TREC's."""
    query_file = _find_file(folder, ("queries.jsonl", "queries.jsonl.gz", "topics.tsv", "topics.txt"))
    qrels_file = _find_file(folder, ("qrels/test.tsv", "qrels/dev.tsv", "qrels/*.tsv", "qrels.tsv", "qrels.txt"))
    queries = read_topics(query_file) if query_file.stem == "topics" else read_queries(query_file)
    rows = [
        (queries[query], answer)
        for query, answers in read_qrels(qrels_file).items()
        if query in queries
        for answer, score in answers.items()
        if score > 0
    ]
    if any(not question.strip() for question, _ in rows):
        raise ValueError(f"{query_file}: a question is empty; delete it")
    if not rows:
        raise ValueError(f"{folder}: {qrels_file.name} has no answer to any query of {query_file.name}")
    return rows


def _find_file(folder: Path, patterns: Sequence[str]) -> Path:
    """Return the first file of a folder that matches one of the patterns, in their order."""
    for pattern in patterns:
        if files := sorted(folder.glob(pattern)):
            return files[0]
    raise ValueError(f"{folder}: a folder of questions must have {patterns[0]} (or {', '.join(patterns[1:])})")


def _find_fault(parts: Sequence[str]) -> str | None:
    """Return what is wrong with the columns of a line, if anything."""
    if len(parts) != len(QUESTION_COLUMNS):
        return "1 column" if len(parts) == 1 else f"{len(parts)} columns"
    return None if all(parts) else "a column is empty"


def _read_columns(file: Path) -> list[list[str]]:
    file_format = "Each line must be a question, a tab (in .csv a comma) and the document or passage that answers it."
    delimiter = _DELIMITERS.get(file.suffix.lower())
    if delimiter is None:
        raise ValueError(f"{file}: a file of questions must be .tsv or .csv. {file_format}")
    rows = []
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            # In files with tabs quotation marks are text.
            quoting = csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
            lines = csv.reader(text, delimiter=delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
            for columns in lines:
                parts = [part.strip() for part in columns]
                if not any(parts):
                    continue
                if fault := _find_fault(parts):
                    raise ValueError(f"{file}, line {lines.line_num}: {fault}. {file_format}")
                if parts != QUESTION_COLUMNS:  # a header
                    rows.append(parts)
    except OSError as error:
        raise ValueError(f"{file}: cannot be read: {error.strerror}") from error
    except csv.Error as error:
        fault = f"a quotation mark is not closed, or inside a column ({error})"
        raise ValueError(f"{file}, line {lines.line_num}: {fault}. {file_format}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: is not text in UTF-8 with two columns ({error}). {file_format}") from error
    if not rows:
        raise ValueError(f"{file}: contains no questions. {file_format}")
    return rows


def document_names(doc_id: str, title: str) -> list[str]:
    """Return the names of a document in a file of questions: id, id without language, and title."""
    return [doc_id, doc_id.partition(":")[2], *([title] if title else [])]


def describe_unknown(unknown: Iterable[str], source: str) -> str:
    """Return a message about answers that name no document."""
    names = sorted(unknown)
    more = f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
    return f"{source}: unknown document {', '.join(map(repr, names[:_MAX_LISTED_NAMES]))}{more}"
