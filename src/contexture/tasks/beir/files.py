"""Read data sets in BEIR's layout (Thakur et al., 2021): documents, queries, and relevance judgements."""

import math
from collections.abc import Collection, Container, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from contexture.retrieval.parquet_rows import ROWS_PER_GROUP
from contexture.tasks.retrieval.reqa_files import find_files, get_field, iter_lines, parse_json

#: Files of a set that was read.
DOCUMENTS_FILE, QUERIES_FILE = "documents.parquet", "queries.parquet"

_REMEDY = "A set in BEIR's layout is a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv: see docs/beir.md."
_LAYOUT = "a line must be an object with _id and text and, in corpus.jsonl, an optional title, all of them text"
_HEADER = ["query-id", "corpus-id", "score"]
_QRELS = (
    f"lines must be two ids and a number with tabs between, below the header {', '.join(_HEADER)} or without it, or as "
    "in TREC: query, 0, document, number"
)
#: Cells of a line in TREC's layout.
_TREC_CELLS = 4
#: Unknown ids that a message lists.
_MAX_LISTED_NAMES = 3
_SCHEMA = pa.schema([("id", pa.string()), ("title", pa.string()), ("text", pa.string())])


def write_set(name: str, folder: Path, split: str, output_dir: Path) -> tuple[dict[str, int], list[str]]:
    """Write `DOCUMENTS_FILE` (id, title, text) and `QUERIES_FILE` (id, text, documents, scores) to a new folder.

    Queries without a relevant document in this split are left out. Relevant documents that are not in the corpus count
    as not retrieved, as in BEIR. Returns counts, and warnings about unknown ids.

    Raises:
        BenchmarkMissing: a file is missing.
        ValueError: a file is damaged, empty, in another layout or has an id twice; or qrels only have unknown queries
            or documents.
    """
    corpus_file, query_file, qrels_file = (
        _find_file(name, folder / file) for file in ("corpus.jsonl", "queries.jsonl", f"qrels/{split}.tsv")
    )
    qrels, queries = read_qrels(qrels_file), read_queries(query_file)
    relevant = {query: {doc: score for doc, score in scores.items() if score > 0} for query, scores in qrels.items()}
    relevant_ids = {doc for scores in relevant.values() for doc in scores}
    output_dir.mkdir()
    count, known = _write_documents(corpus_file, output_dir / DOCUMENTS_FILE, relevant_ids)
    notes = [
        *_describe_unknown(qrels_file, query_file, list(qrels), queries, "queries", "are left out"),
        *_describe_unknown(qrels_file, corpus_file, sorted(relevant_ids), known, "documents", "count as not retrieved"),
    ]
    rows = [
        (query, text, *zip(*relevant[query].items(), strict=True))
        for query, text in queries.items()
        if relevant.get(query)
    ]
    if not rows:
        problem = f"no document is relevant, with a score above 0, to any query of {query_file}"
        raise ValueError(f"{qrels_file}: {problem}; {_QRELS}")
    pd.DataFrame(rows, columns=["id", "text", "documents", "scores"]).to_parquet(output_dir / QUERIES_FILE)
    counts = {
        "documents": count,
        "queries": len(rows),
        "queries_without_a_relevant_document": len(queries) - len(rows),
        "relevant_documents": len(relevant_ids),
        "relevant_documents_not_there": len(relevant_ids) - len(known),
        "judged_queries_not_there": len(set(qrels) - set(queries)),
    }
    return counts, notes


def read_qrels(file: Path) -> dict[str, dict[str, float]]:
    """Return query → document → relevance; raise ValueError for a line in another layout.

    The header is optional. Lines may be those of TREC, with white space between their cells.
    """
    qrels: dict[str, dict[str, float]] = {}
    for number, line in iter_lines(file):
        position = f"{file}, line {number}"
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        cells = text.split("\t")
        if number == 1 and cells == _HEADER:
            continue
        if len(text.split()) == _TREC_CELLS and len(cells) in (1, _TREC_CELLS):
            query, _, *cells = text.split()
            cells = [query, *cells]
        if len(cells) != len(_HEADER) or not all(cells) or (score := _parse_score(cells[2])) is None:
            raise ValueError(f"{position}: {' '.join(cells)[:60]!r} is not a line of qrels; {_QRELS}")
        query, document, _ = cells
        if qrels.setdefault(query, {}).setdefault(document, score) != score:
            raise ValueError(f"{position}: {query} and {document} occur again with another score; remove one line")
    return qrels


def _parse_score(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _find_file(name: str, path: Path) -> Path:
    """Return the plain or gzipped file."""
    zipped = path.with_name(f"{path.name}.gz")
    return find_files(name, [path if path.is_file() or not zipped.is_file() else zipped], "", _REMEDY)[0]


def _read_records(file: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the unique id of each line, its object, and its position for errors."""
    ids: set[str] = set()
    for number, line in iter_lines(file):
        if not line.strip():
            continue
        position = f"{file}, line {number}"
        record = parse_json(file, line, number)
        name = get_field(record, "_id", str, position, _LAYOUT)
        if name in ids:
            raise ValueError(f"{position}: the _id {name!r} occurs again; give each line a unique _id")
        ids.add(name)
        yield name, record, position
    if not ids:
        raise ValueError(f"{file} is empty; {_LAYOUT}")


def read_topics(file: Path) -> dict[str, str]:
    """Return id → text of TREC topics, a line each: id, tab, text; raise ValueError for another layout."""
    topics: dict[str, str] = {}
    for number, line in iter_lines(file):
        name, tab, text = line.decode("utf-8", "replace").strip().partition("\t")
        if not tab and not name:
            continue
        if not text.strip() or name in topics:
            raise ValueError(f"{file}, line {number}: each line must be a new id, a tab and the text of a query")
        topics[name] = text.strip()
    return topics


def read_queries(file: Path) -> dict[str, str]:
    """Return id → text; raise ValueError for a line in another layout."""
    return {name: get_field(record, "text", str, position, _LAYOUT) for name, record, position in _read_records(file)}


def _write_documents(file: Path, output_file: Path, relevant_ids: Container[str]) -> tuple[int, set[str]]:
    """Write the documents in batches; return their number, and which of `relevant_ids` exist."""
    records, count, known = _read_records(file), 0, set[str]()
    with pq.ParquetWriter(output_file, _SCHEMA) as writer:
        while group := list(islice(records, ROWS_PER_GROUP)):
            documents = []
            for name, record, position in group:
                has_title = record.get("title") is not None
                title = get_field(record, "title", str, position, _LAYOUT) if has_title else ""
                documents.append(
                    {"id": name, "title": title, "text": get_field(record, "text", str, position, _LAYOUT)}
                )
            writer.write_table(pa.Table.from_pylist(documents, _SCHEMA))
            count += len(group)
            known.update(name for name, *_ in group if name in relevant_ids)
    return count, known


def _describe_unknown(
    qrels_file: Path, file: Path, ids: Sequence[str], known: Collection[str], noun: str, outcome: str
) -> list[str]:
    """Return a warning about ids in qrels that the file lacks, if any; raise ValueError if it lacks all."""
    missing = [name for name in ids if name not in known]
    if not missing:
        return []
    names = ", ".join(missing[:_MAX_LISTED_NAMES]) + (", …" if len(missing) > _MAX_LISTED_NAMES else "")
    note = f"of {len(ids):,} {noun} in {qrels_file}, {file} lacks {len(missing):,} ({names})"
    if len(missing) == len(ids):
        raise ValueError(f"{note}: use files of the same set")
    return [f"{note}: they {outcome}"]
