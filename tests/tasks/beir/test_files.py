"""Reading of BEIR's files, and errors for wrong ones."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from contexture.tasks.beir.files import DOCUMENTS_FILE, QUERIES_FILE, read_qrels, read_topics, write_set
from contexture.tasks.missing import BenchmarkMissing
from tests.tasks.beir.toys import HEADER, compress_files, write_beir_set, write_small_set


def rows(file: Path) -> list[list[object]]:
    table = pd.read_parquet(file).to_numpy(object)
    return [[list(cell) if hasattr(cell, "tolist") else cell for cell in row] for row in table]


def set_counts(**counts: int) -> dict[str, int]:
    """Return the counts of a set with three documents and two queries, with changes."""
    usual = {"documents": 3, "queries": 2, "queries_without_a_relevant_document": 0, "relevant_documents": 2}
    return usual | {"relevant_documents_not_there": 0, "judged_queries_not_there": 0} | counts


@pytest.mark.parametrize("pack", [Path, compress_files])
def test_a_set_is_read(pack: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = pack(write_small_set(tmp_path / "set"))
    counts, notes = write_set("toys", folder, "test", tmp_path / "read")
    assert rows(tmp_path / "read" / DOCUMENTS_FILE) == [["a", "Kana", "kana kave"], ["b", "", "lona"], ["c", "", ""]]
    assert rows(tmp_path / "read" / QUERIES_FILE) == [["1", "kave", ["a"], [1.0]], ["2", "lona", ["b"], [1.0]]]
    assert (counts, notes) == (set_counts(), [])


def test_unknown_ids_are_counted_and_reported(tmp_path: Path) -> None:
    """Query 2 has no relevant document, 3 no judgement; documents x and y and query 9 are unknown."""
    queries = [{"_id": name, "text": "kave"} for name in "123"]
    qrels = [("1", "a", 2), ("1", "x", 1), ("1", "y", 1), ("2", "a", 0), ("2", "z", 0), ("9", "a", 1)]
    folder = write_beir_set(tmp_path / "set", [{"_id": "a", "text": "kana"}], queries, qrels, "dev")
    counts, notes = write_set("toys", folder, "dev", tmp_path / "read")
    assert rows(tmp_path / "read" / QUERIES_FILE) == [["1", "kave", ["a", "x", "y"], [2.0, 1.0, 1.0]]]
    assert counts == set_counts(
        documents=1,
        queries=1,
        queries_without_a_relevant_document=2,
        relevant_documents=3,
        relevant_documents_not_there=2,
        judged_queries_not_there=1,
    )
    judged = folder / "qrels/dev.tsv"
    assert notes == [
        f"of 3 queries in {judged}, {folder / 'queries.jsonl'} lacks 1 (9): they are left out",
        f"of 3 documents in {judged}, {folder / 'corpus.jsonl'} lacks 2 (x, y): they count as not retrieved",
    ]


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
def test_a_missing_file_raises(file: str, tmp_path: Path) -> None:
    folder = write_small_set(tmp_path / "set")
    (folder / file).unlink()
    with pytest.raises(BenchmarkMissing, match=rf"toys is not here: looked for .*/set/{file}\. .*docs/beir\.md"):
        write_set("toys", folder, "test", tmp_path / "read")
    assert not (tmp_path / "read").exists()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("corpus.jsonl", '{"_id": "a", "text": "b"}\n{"_id": "c"', r"corpus\.jsonl, line 2, .*broken JSON .*download"),
        ("corpus.jsonl", '\n["a"]', r"corpus\.jsonl, line 2: no text under the key '_id'; a line must be an object"),
        ("corpus.jsonl", '{"_id": "a", "title": "b"}', r"line 1: no text under the key 'text'"),
        ("corpus.jsonl", '{"_id": "a", "text": "b", "title": 3}', r"line 1: no text under the key 'title'"),
        ("corpus.jsonl", '{"_id": "a", "text": "b"}\n' * 2, r"line 2: the _id 'a' occurs again"),
        ("corpus.jsonl", "\n", r"corpus\.jsonl is empty; a line must be"),
        ("corpus.jsonl", '{"_id": "x", "text": "b"}', r"of 2 documents .* lacks 2 \(a, b\): use files of the same set"),
        ("queries.jsonl", '{"_id": 1, "text": "b"}', r"queries\.jsonl, line 1: no text under the key '_id'"),
        ("queries.jsonl", '{"_id": "x", "text": "b"}', r"of 2 queries .* lacks 2 \(1, 2\): use files of the same set"),
        ("qrels/test.tsv", "1\ta\n", r"test\.tsv, line 1: '1 a' is not a line of qrels; lines must be two ids"),
        ("qrels/test.tsv", f"{HEADER}\n1\t0\ta\t1\t5\n", r"line 2: '1 0 a 1 5' is not a line of qrels"),
        ("qrels/test.tsv", f"{HEADER}\n1\ta\thigh\n", r"line 2: '1 a high' is not a line"),
        ("qrels/test.tsv", f"{HEADER}\n1\ta\tnan\n", r"line 2: '1 a nan' is not a line"),
        ("qrels/test.tsv", f"{HEADER}\n1\ta\t1\n1\ta\t2\n", r"line 3: 1 and a occur again with another score"),
        ("qrels/test.tsv", f"{HEADER}\n1\ta\t0\n", r"no document is relevant, with a score above 0, to any query"),
        ("qrels/test.tsv", "", r"no document is relevant"),
    ],
)
def test_a_wrong_file_raises_with_line_and_remedy(file: str, text: str, message: str, tmp_path: Path) -> None:
    folder = write_small_set(tmp_path / "set")
    (folder / file).write_text(text)
    with pytest.raises(ValueError, match=message):
        write_set("toys", folder, "test", tmp_path / "read")


@pytest.mark.parametrize(
    "lines",
    [f"{HEADER}\n1\ta\t2\n2\tb c\t0\n", "1\ta\t2\n2\tb c\t0\n", "1 0 a 2\n2\tb c\t0\n", "1\t0\ta\t2\n2\tb c\t0"],
)
def test_qrels_with_or_without_header_and_as_in_trec(lines: str, tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text(lines)
    assert read_qrels(tmp_path / "test.tsv") == {"1": {"a": 2.0}, "2": {"b c": 0.0}}


def test_trec_topics(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("301\twho sails?\n\n302\t who walks \n")
    assert read_topics(tmp_path / "topics.tsv") == {"301": "who sails?", "302": "who walks"}
    for text in ("301\n", "301\ta\n301\tb\n"):
        (tmp_path / "topics.tsv").write_text(text)
        with pytest.raises(ValueError, match=r"topics\.tsv, line \d: each line must be a new id"):
            read_topics(tmp_path / "topics.tsv")


def test_qrels_with_windows_line_ends_and_repeated_lines(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_bytes(f"{HEADER}\r\n1\ta\t1\r\n1\ta\t1\r\n2\tb\t-1".encode())
    assert read_qrels(tmp_path / "test.tsv") == {"1": {"a": 1.0}, "2": {"b": -1.0}}
