"""The formats that published sets of pairs come in."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.pairs.files import read_set

SNLI = ["annotator_labels", "captionID", "gold_label", "pairID", "sentence1", "sentence2"]
SNLI_TEXT = (
    "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1\tsentence2\tcaptionID\tlabel1\tlabel2"
)
GLUE_MNLI = "index\tpromptID\tpairID\tgenre\tsentence1_parse\tsentence1\tsentence2\tlabel1\tgold_label"
QUORA = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return path


def found(table: pd.DataFrame, part: str, genres: str = "") -> list[tuple[str, ...]]:
    chosen = table[table["part"].eq(part) & table["genres"].eq(genres)]
    return [*chosen[["first", "second", "label"]].itertuples(index=False, name=None)]


def snli(label: str, first: str, second: str) -> str:
    return json.dumps(dict(zip(SNLI, [[label], "1.jpg", label, "1.jpg#0", first, second], strict=True)))


def test_snli_json_lines_are_preferred_to_the_text_beside_them(tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        write(tmp_path / f"snli_1.0_{part}.jsonl", snli("neutral", f"A {part}.", "B\u2028b."), snli("-", "C", "D"))
        write(tmp_path / f"snli_1.0_{part}.txt", SNLI_TEXT, "neutral\t(A)\t(B)\tother\tother\t1.jpg\tneutral\t")
    write(tmp_path / "README.txt", "About SNLI.")
    table = read_set("snli", str(tmp_path))
    for part in ("train", "dev", "test"):
        assert found(table, part) == [(f"A {part}.", "B\u2028b.", "neutral"), ("C", "D", "")]


def test_snli_text(tmp_path: Path) -> None:
    write(
        tmp_path / "snli_1.0_dev.txt",
        SNLI_TEXT,
        'entailment\t( A )\t( B )\tA "man" sits.\tSomebody sits.\t1.jpg\tentailment\t',
        "-\t( A )\t( B )\tA.\tB.\t1.jpg\t\t",
    )
    rows = [('A "man" sits.', "Somebody sits.", "entailment"), ("A.", "B.", "")]
    assert found(read_set("snli", str(tmp_path)), "dev") == rows


def test_mnli_of_glue_and_its_own(tmp_path: Path) -> None:
    row = "0\t1\t1n\tfiction\t( A )\tA.\tB {}.\tneutral\tneutral"
    write(tmp_path / "MNLI/train.tsv", GLUE_MNLI, row.format("train"))
    for genres in ("matched", "mismatched"):
        write(tmp_path / f"MNLI/dev_{genres}.tsv", GLUE_MNLI, row.format(genres))
        write(tmp_path / f"MNLI/test_{genres}.tsv", GLUE_MNLI.rsplit("\t", 2)[0], "0\t1\t1n\tfiction\t( A )\tA.\tB.")
    write(tmp_path / "MNLI/original/multinli_1.0_train.jsonl", "not read")
    table = read_set("mnli", str(tmp_path / "MNLI"))
    assert found(table, "train") == [("A.", "B train.", "neutral")]
    assert [found(table, "dev", genres)[0][1] for genres in ("matched", "mismatched")] == [
        "B matched.",
        "B mismatched.",
    ]
    assert found(table, "test", "matched") == [("A.", "B.", "")]  # the labels are kept secret

    own = tmp_path / "multinli_1.0"
    row = '{"gold_label": "entailment", "genre": "fiction", "sentence1": "A.", "sentence2": "B."}'
    write(own / "multinli_1.0_train.jsonl", row)
    write(own / "multinli_1.0_dev_mismatched.jsonl", row)
    table = read_set("mnli", str(own))
    assert found(table, "dev", "mismatched") == found(table, "train") == [("A.", "B.", "entailment")]


def test_quora_question_pairs_of_glue(tmp_path: Path) -> None:
    """Some rows go on in another line, and quotation marks are doubled inside of others."""
    write(
        tmp_path / "train.tsv",
        QUORA,
        "1\t3\t4\tWhy?\tWhy not?\t0",
        '2\t5\t6\t"What is ""that"" for?"\tHow is it',
        "read?\t1",
        '3\t7\t8\t"A" or "B"?\tWhich?\t0',
    )
    write(tmp_path / "dev.tsv", QUORA, "1\t3\t4\tWhy?\tHow?\t1")
    write(tmp_path / "test.tsv", "id\tquestion1\tquestion2", "0\tWhy", "not?\tHow?")
    table = read_set("qqp", str(tmp_path))
    assert found(table, "train") == [
        ("Why?", "Why not?", "0"), ('What is "that" for?', "How is it read?", "1"), ('"A" or "B"?', "Which?", "0")
    ]  # fmt: skip
    assert found(table, "dev") == [("Why?", "How?", "1")] and found(table, "test") == [("Why not?", "How?", "")]


@pytest.mark.parametrize("given", ["folder", "file"])
def test_quora_question_pairs_as_quora_gave_them(given: str, tmp_path: Path) -> None:
    file = write(
        tmp_path / "quora_duplicate_questions.tsv", QUORA, "0\t1\t2\tWhy?\tWhy not?\t0", "1\t3\t4\tIs it?\t\t0"
    )
    write(tmp_path / "README.txt", "About Quora.")
    table = read_set("qqp", str(tmp_path if given == "folder" else file))
    assert found(table, "whole") == [("Why?", "Why not?", "0"), ("Is it?", "", "0")]


def test_quora_question_pairs_as_wang_split_them(tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        write(tmp_path / f"{part}.tsv", f"1\tWhy {part} ?\tWhat for ?\t17", "0\tWho ?\tHow ?\t18")
    assert found(read_set("qqp", str(tmp_path)), "dev") == [("Why dev ?", "What for ?", "1"), ("Who ?", "How ?", "0")]


def test_scitail_and_other_plain_tables_gzipped(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "scitail_1.0_test.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("Pluto rotates.\tThe planet rotates.\tneutral\nA cell.\tA cell is.\tentails\n")
    train = write(tmp_path / "elsewhere/train.txt", "\ufeffOne.\tTwo.\t1")
    table = read_set("scitail", [str(tmp_path / "scitail_1.0_test.tsv.gz"), str(train)])
    assert found(table, "test")[1] == ("A cell.", "A cell is.", "entails")
    assert found(table, "train") == [("One.", "Two.", "1")]


def test_null_is_no_label_and_no_text(tmp_path: Path) -> None:
    rows = ['{"sentence1": "a", "sentence2": "b", "label": null}', '{"sentence1": null, "sentence2": "b", "label": 1}']
    write(tmp_path / "dev.jsonl", *rows)
    assert found(read_set("snli", str(tmp_path)), "dev") == [("a", "b", ""), ("", "b", "1")]


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("dev.tsv", ["a\tb\tneutral", "a\tneutral"], r"dev\.tsv, line 2: 2 fields where there should be 3; fetch"),
        ("dev.tsv", ["a\tb\tneutral", "a\tb\tc\tneutral"], r"line 2: 4 fields where there should be 3"),
        ("dev.tsv", ["a\tb"], r"line 1: 2 columns, and no header that names sentence1"),
        (
            "dev.tsv",
            ["a\tb\tneutral", f"neutral\tb\t{'a ' * 20}"],
            r"line 2: the label is .* must be a word or a number",
        ),
        ("dev.tsv", [QUORA, "0\t1\t2\tWhy?\tHow?\t0", "1\t3\t4\tWhy?"], r"line 3: 4 fields where there should be 6"),
        ("dev.jsonl", [snli("neutral", "a", "b"), '{"sentence1": "a'], r"dev\.jsonl, line 2: no JSON object with"),
        ("dev.jsonl", ['{"text": "a", "gold_label": "neutral"}'], r"line 1: no JSON object with sentence1"),
        ("dev.txt", [], r"dev\.txt is empty; fetch it again"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(name: str, lines: list[str], said: str, tmp_path: Path) -> None:
    write(tmp_path / name, *lines)
    with pytest.raises(ValueError, match=said):
        read_set("snli", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "content"),
    [("dev.tsv", b"a\tb\t\xff"), ("dev.tsv.gz", gzip.compress(b"a\tb\tc\n" * 99, mtime=0)[:-4])],
    ids=["bytes", "cut"],
)
def test_bytes_that_are_no_text_are_named(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"dev\.tsv.* is damaged .*; fetch it again"):
        read_set("snli", str(tmp_path))


def test_two_files_of_one_part_are_refused(tmp_path: Path) -> None:
    files = [str(write(tmp_path / name, "a\tb\tneutral")) for name in ("train.tsv", "train_more.tsv", "dev.tsv")]
    with pytest.raises(ValueError, match=r"snli: .*train\.tsv and .*train_more\.tsv are both its part train; name one"):
        read_set("snli", files)


@pytest.mark.parametrize("given", ["nowhere", ["nowhere/dev.tsv"], "empty"])
def test_what_is_not_there_is_missing(given: Any, tmp_path: Path) -> None:
    write(tmp_path / "empty/README.txt", "Nothing.")
    places = [str(tmp_path / one) for one in ([given] if isinstance(given, str) else given)]
    with pytest.raises(BenchmarkMissing, match=r"snli is not here: looked for .*\. Give the folder"):
        read_set("snli", places[0] if isinstance(given, str) else places)
