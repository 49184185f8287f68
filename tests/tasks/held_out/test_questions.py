"""Reading of a user's questions, and errors for wrong files."""

from pathlib import Path

import pandas as pd
import pytest

from contexture.tasks.held_out.questions import QUESTION_COLUMNS, describe_unknown, document_names, read_questions
from tests.tasks.beir.toys import write_beir_set

ROWS = [("who sails?", "boats"), ("who sails?", "ferries.md"), ('a "quay"', "harbour")]


def rows(table: pd.DataFrame) -> list[tuple[str, str]]:
    assert list(table.columns) == QUESTION_COLUMNS
    return list(table.itertuples(index=False, name=None))


def write(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    file = folder / name
    file.write_text(text, encoding=encoding)
    return file


TABS = 'who sails?\tboats\n\n  who sails? \t ferries.md\r\n\t\na "quay"\tharbour\nwho sails?\tboats'
COMMAS = 'who sails?,boats\n\nwho sails?,ferries.md\n"a ""quay""",harbour\n"one, two\nthree",d\n'


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("own.tsv", TABS, ROWS),
        ("own.TXT", TABS, ROWS),
        ("own.csv", COMMAS, [*ROWS, ("one, two\nthree", "d")]),
        ("own.tsv", '"a\tb\nc\td\n', [('"a', "b"), ("c", "d")]),  # an open quotation mark is text
    ],
)
def test_tables(name: str, text: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    assert rows(read_questions(write(tmp_path, name, text))) == expected


@pytest.mark.parametrize(("name", "between"), [("own.tsv", "\t"), ("own.csv", ",")])
@pytest.mark.parametrize("header", ["", "question{}answer\n"])
def test_a_header_and_a_byte_order_mark_are_no_question(name: str, between: str, header: str, tmp_path: Path) -> None:
    text = header.format(between) + f"who?{between}a\n"
    assert rows(read_questions(write(tmp_path, name, text, "utf-8-sig"))) == [("who?", "a")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("own.tsv", "a\tb\n\nc d\n", r", line 3: 1 column\."),
        ("own.tsv", "a\tb\tc\n", ", line 1: 3 columns"),
        ("own.tsv", "a\tb\n\tb\n", ", line 2: a column is empty"),
        ("own.tsv", "a\t \n", ", line 1: a column is empty"),
        ("none.tsv", "", ": contains no questions"),
        ("lines.tsv", "\n\t\n", ": contains no questions"),
        ("header.csv", "question,answer\n", ": contains no questions"),
        ("own.xlsx", "a\tb", r": a file of questions must be \.tsv or \.csv"),
        ("own.csv", 'a,b\n"open,c\nd,"e"\n', ", line 3: a quotation mark is not closed"),
        ("wide.tsv", "a\tb", ": is not text in UTF-8 with two columns"),
    ],
)
def test_wrong_files_raise_with_line_and_format(name: str, text: str, message: str, tmp_path: Path) -> None:
    file = write(tmp_path, name, text, "utf-16" if name == "wide.tsv" else "utf-8")
    with pytest.raises(ValueError, match=rf"{name}{message}.*Each line must be a question, a tab"):
        read_questions(file)
    file.unlink()
    if file.suffix != ".xlsx":
        with pytest.raises(ValueError, match=rf"{name}: cannot be read"):
            read_questions(file)


def test_a_folder_in_beirs_layout(tmp_path: Path) -> None:
    queries = [{"_id": "1", "text": "who sails?"}, {"_id": "2", "text": "who walks?"}]
    qrels = [("1", "boats", 2), ("1", "lamps", 0), ("3", "boats", 1), ("1", "ferries", 1)]
    write_beir_set(tmp_path, [{"_id": "boats", "text": "x"}], queries, qrels)
    assert rows(read_questions(tmp_path)) == [("who sails?", "boats"), ("who sails?", "ferries")]


def test_folders_of_other_splits_and_of_trec(tmp_path: Path) -> None:
    queries = [{"_id": "1", "text": "who sails?"}]
    folder = write_beir_set(tmp_path / "dev", [], queries, [("1", "boats", 1)], "dev")
    assert rows(read_questions(folder)) == [("who sails?", "boats")]
    (tmp_path / "topics.tsv").write_text("7\twho walks?\n")
    (tmp_path / "qrels.txt").write_text("7 0 quays 1\n7 0 boats 0\n8 0 boats 1\n")
    assert rows(read_questions(tmp_path)) == [("who walks?", "quays")]


def test_folders_in_another_layout_raise(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a folder of questions must have queries\.jsonl \(or "):
        read_questions(tmp_path)
    queries = [{"_id": "1", "text": "who?"}]
    with pytest.raises(ValueError, match=r"test\.tsv has no answer to any query"):
        read_questions(write_beir_set(tmp_path, [], queries, [("1", "boats", 0), ("2", "boats", 1)]))
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "who?"}\n{"_id": "2"}\n')
    with pytest.raises(ValueError, match=r"queries\.jsonl, line 2: no text under the key 'text'"):
        read_questions(tmp_path)


def test_names_and_unknown_names() -> None:
    assert document_names("en:guide/boats.md", "Boats") == ["en:guide/boats.md", "guide/boats.md", "Boats"]
    assert document_names("en:a:b", "") == ["en:a:b", "a:b"]
    assert describe_unknown({"b", "a"}, "here") == "here: unknown document 'a', 'b'"
    assert describe_unknown(iter("dcbae"), "here") == "here: unknown document 'a', 'b', 'c' and 2 more"
