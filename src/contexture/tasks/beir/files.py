"""A folder in BEIR's layout (Thakur et al., 2021), read once: documents, queries, and which are relevant to which."""

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.retrieval.parquet_rows import ROWS_A_GROUP
from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.retrieval.reqa_files import field, lines, parse

#: The files of a set that was read.
DOCUMENTS, QUERIES = "documents.parquet", "queries.parquet"

_REMEDY = "A set in BEIR's layout is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv: see docs/beir.md."
_LAYOUT = "a line is an object with the texts _id and text and, of corpus.jsonl, title if there is one"
_HEADER = ["query-id", "corpus-id", "score"]
_QRELS = f"the first line must be {', '.join(_HEADER)} between tabs, each other one an id, an id and a number"
#: As many names are told of what is wrong.
_TOLD = 3
_SCHEMA = pa.schema([("id", pa.string()), ("title", pa.string()), ("text", pa.string())])


def write_set(name: str, folder: Path, split: str, place: Path) -> tuple[dict[str, int], list[str]]:
    """Write `DOCUMENTS` (id, title, text) and `QUERIES` (id, text, documents, scores) of a set to a new folder.

    Queries to which no document is relevant in this split are left out. Documents that are relevant and not in the
    corpus stay: they count as not found, as they do for BEIR.

    Returns:
        What was counted, and what there is to know of it.

    Raises:
        BenchmarkMissing: a file is absent.
        ValueError: a file is damaged, has another layout, an id twice, or nothing in it; or none of the queries, or of
            the documents, that qrels name is there. The text names file, line and remedy.
    """
    corpus, asked, judged = (
        _file(name, folder / file) for file in ("corpus.jsonl", "queries.jsonl", f"qrels/{split}.tsv")
    )
    qrels, queries = read_qrels(judged), read_queries(asked)
    relevant = {query: {doc: score for doc, score in found.items() if score > 0} for query, found in qrels.items()}
    named = {doc for found in relevant.values() for doc in found}
    place.mkdir()
    count, there = _write_documents(corpus, place / DOCUMENTS, named)
    notes = [
        *_unknown(judged, asked, list(qrels), queries, "queries", "are left out"),
        *_unknown(judged, corpus, sorted(named), there, "documents", "count as not found"),
    ]
    rows = [
        (query, text, *zip(*relevant[query].items(), strict=True))
        for query, text in queries.items()
        if relevant.get(query)
    ]
    if not rows:
        raise ValueError(f"{judged}: no document is relevant, with a score above 0, to any query of {asked}; {_QRELS}")
    pd.DataFrame(rows, columns=["id", "text", "documents", "scores"]).to_parquet(place / QUERIES)
    counts = {
        "documents": count,
        "queries": len(rows),
        "queries_without_a_relevant_document": len(queries) - len(rows),
        "relevant_documents": len(named),
        "relevant_documents_not_there": len(named) - len(there),
        "judged_queries_not_there": len(set(qrels) - set(queries)),
    }
    return counts, notes


def read_qrels(file: Path) -> dict[str, dict[str, float]]:
    """Query → document → how relevant it is; ValueError, naming file and line, for what is not in the layout."""
    found: dict[str, dict[str, float]] = {}
    for number, line in lines(file):
        place = f"{file}, line {number}"
        cells = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
        if number == 1 and cells == _HEADER:
            continue
        if number == 1 or len(cells) != len(_HEADER) or not all(cells) or (score := _number(cells[2])) is None:
            raise ValueError(f"{place}: {' '.join(cells)[:60]!r} is none of qrels; {_QRELS}")
        query, document, _ = cells
        if found.setdefault(query, {}).setdefault(document, score) != score:
            raise ValueError(f"{place}: {query} and {document} stood there before with another score; leave one out")
    return found


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _file(name: str, path: Path) -> Path:
    """The file, gzipped or not."""
    found = next((one for one in (path, path.with_name(f"{path.name}.gz")) if one.is_file()), None)
    if found is None:
        raise BenchmarkMissing(name, path, _REMEDY)
    return found


def _records(file: Path) -> Iterator[tuple[str, object, str]]:
    """The id of each line of a file, which no other has, its object, and where it stands."""
    before: set[str] = set()
    for number, line in lines(file):
        if not line.strip():
            continue
        place = f"{file}, line {number}"
        record = parse(file, line, number)
        name = field(record, "_id", str, place, _LAYOUT)
        if name in before:
            raise ValueError(f"{place}: the _id {name!r} stood there before; give each line one of its own")
        before.add(name)
        yield name, record, place
    if not before:
        raise ValueError(f"{file} is empty; {_LAYOUT}")


def read_queries(file: Path) -> dict[str, str]:
    """Id → text; ValueError, naming file and line, for what is not in the layout."""
    return {name: field(record, "text", str, place, _LAYOUT) for name, record, place in _records(file)}


def _documents(file: Path) -> Iterator[tuple[str, str, str]]:
    for name, record, place in _records(file):
        title = record.get("title") if isinstance(record, dict) else None
        if title is not None:
            title = field(record, "title", str, place, _LAYOUT)
        yield name, title or "", field(record, "text", str, place, _LAYOUT)


def _write_documents(file: Path, path: Path, named: Container[str]) -> tuple[int, set[str]]:
    """How many documents there are, and which of those named; some of them are in memory at a time."""
    documents, count, there = _documents(file), 0, set[str]()
    with pq.ParquetWriter(path, _SCHEMA) as writer:
        while some := list(islice(documents, ROWS_A_GROUP)):
            columns = [pa.array(column, pa.string()) for column in zip(*some, strict=True)]
            writer.write_table(pa.Table.from_arrays(columns, schema=_SCHEMA))
            count += len(some)
            there.update(name for name, *_ in some if name in named)
    return count, there


def _unknown(judged: Path, file: Path, named: Sequence[str], there: Iterable[str], what: str, so: str) -> list[str]:
    """What qrels name and the file has not, in a sentence; ValueError where it has nothing of it."""
    known = set(there)
    missing = [name for name in named if name not in known]
    if not missing:
        return []
    told = ", ".join(missing[:_TOLD]) + (", …" if len(missing) > _TOLD else "")
    said = f"of {len(named):,} {what} that {judged} names, {file} lacks {len(missing):,} ({told})"
    if len(missing) == len(named):
        raise ValueError(f"{said}: take all files of one set")
    return [f"{said}: they {so}"]
