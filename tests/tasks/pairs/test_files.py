"""Formats of published sets of pairs."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.pairs.files import read_set

SNLI = ["annotator_labels", "captionID", "gold_label", "pairID", "sentence1", "sentence2"]
SNLI_TEXT = (
    "gold_label\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1\tsentence2\tcaptionID\tlabel1\tlabel2"
)
MNLI = "index\tpromptID\tpairID\tgenre\tsentence1_parse\tsentence1\tsentence2\tlabel1\tgold_label"
MNLI_ROW = "0\t1\t1n\tfiction\t( A )\tA.\tB {}.\tneutral\tneutral"
MNLI_JSON = '{"gold_label": "entailment", "genre": "fiction", "sentence1": "A.", "sentence2": "B."}'
QUORA = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"
PARTS = ("dev", "test", "train")


def write(folder: Path, files: dict[str, list[str]]) -> None:
    for name, lines in files.items():
        path, content = folder / name, "".join(f"{line}\n" for line in lines).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def snli(label: str, first: str, second: str) -> str:
    return json.dumps(dict(zip(SNLI, [[label], "1.jpg", label, "1.jpg#0", first, second], strict=True)))


SNLI_JSON = [snli("neutral", "A man.", "B\u2028b."), snli("-", "C", "D")]
#: Files of a set, and their rows; "" is a missing label.
FORMATS: dict[str, tuple[dict[str, list[str]], list[tuple[str, ...]]]] = {
    "SNLI: JSON lines are preferred to text": (
        {"README.txt": ["About SNLI."]}
        | {f"snli_1.0_{part}.txt": [SNLI_TEXT, "neutral\t(A)\t(B)\tno\tno\t1.jpg\tneutral\t"] for part in PARTS}
        | {f"snli_1.0_{part}.jsonl": SNLI_JSON for part in PARTS},
        [(part, "", *row) for part in PARTS for row in (("A man.", "B\u2028b.", "neutral"), ("C", "D", ""))],
    ),
    "SNLI, text": (
        {"snli_1.0_dev.txt": [
            SNLI_TEXT, 'entailment\t( A )\t( B )\tA "man" sits.\tSomebody sits.\t1.jpg\tentailment\t',
            "-\t( A )\t( B )\tA.\tB.\t1.jpg\t\t",
        ]},
        [("dev", "", 'A "man" sits.', "Somebody sits.", "entailment"), ("dev", "", "A.", "B.", "")],
    ),
    "MultiNLI of GLUE: the test part has no labels": (
        {"train.tsv": [MNLI, MNLI_ROW.format("train")], "original/multinli_1.0_train.jsonl": ["not read"]}
        | {f"dev_{genres}.tsv": [MNLI, MNLI_ROW.format(genres)] for genres in ("matched", "mismatched")}
        | {"test_matched.tsv": [MNLI.rsplit("\t", 2)[0], "0\t1\t1n\tfiction\t( A )\tA.\tB."]},
        [
            ("dev", "matched", "A.", "B matched.", "neutral"), ("dev", "mismatched", "A.", "B mismatched.", "neutral"),
            ("test", "matched", "A.", "B.", ""), ("train", "", "A.", "B train.", "neutral"),
        ],
    ),
    "MultiNLI": (
        {"multinli_1.0_train.jsonl": [MNLI_JSON], "multinli_1.0_dev_mismatched.jsonl": [MNLI_JSON]},
        [("dev", "mismatched", "A.", "B.", "entailment"), ("train", "", "A.", "B.", "entailment")],
    ),
    "QQP of GLUE: rows with line breaks and doubled quotation marks": (
        {
            "train.tsv": [
                QUORA, "1\t3\t4\tWhy?\tWhy not?\t0", '2\t5\t6\t"What is ""that"" for?"\tHow is it', "read?\t1",
                '3\t7\t8\t"A" or "B"?\tWhich?\t0',
            ],
            "dev.tsv": [QUORA, "1\t3\t4\tWhy?\tHow?\t1"],
            "test.tsv": ["id\tquestion1\tquestion2", "0\tWhy", "not?\tHow?"],
        },
        [
            ("dev", "", "Why?", "How?", "1"), ("test", "", "Why not?", "How?", ""),
            ("train", "", "Why?", "Why not?", "0"), ("train", "", 'What is "that" for?', "How is it read?", "1"),
            ("train", "", '"A" or "B"?', "Which?", "0"),
        ],
    ),
    "QQP as Quora published it": (
        {"quora.tsv": [QUORA, "0\t1\t2\tWhy?\tWhy not?\t0", "1\t3\t4\tIs it?\t\t0"], "README.txt": ["Quora."]},
        [("whole", "", "Why?", "Why not?", "0"), ("whole", "", "Is it?", "", "0")],
    ),
    "QQP as Wang et al. split it": (
        {"dev.tsv": ["1\tWhy ?\tWhat for ?\t17", "0\tWho ?\tHow ?\t18"]},
        [("dev", "", "Why ?", "What for ?", "1"), ("dev", "", "Who ?", "How ?", "0")],
    ),
    "SciTail and other plain tables, gzipped": (
        {"scitail_test.tsv.gz": ["A.\tB.\tneutral", "", "A cell.\tIs.\tentails"], "train.txt": ["\ufeffOne.\tTwo.\t1"]},
        [("test", "", "A.", "B.", "neutral"), ("test", "", "A cell.", "Is.", "entails"),
         ("train", "", "One.", "Two.", "1")],
    ),
    "null is a missing label or text": (
        {"dev.jsonl": ['{"sentence1": "a", "sentence2": "b", "label": null}', "",
                       '{"sentence1": null, "sentence2": "b", "label": 1}']},
        [("dev", "", "a", "b", ""), ("dev", "", "", "b", "1")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), FORMATS.values(), ids=FORMATS)
def test_formats(files: dict[str, list[str]], expected: list[tuple[str, ...]], tmp_path: Path) -> None:
    write(tmp_path, files)
    table = read_set("set", str(tmp_path))
    assert table.columns.tolist() == ["part", "genres", "first", "second", "label"]
    assert [*table.itertuples(index=False, name=None)] == expected


def test_a_set_may_be_one_file_or_several(tmp_path: Path) -> None:
    row = "A.\tB.\t1"
    write(tmp_path, {name: [row] for name in ("all.txt", "train.tsv", "train_more.tsv", "elsewhere/dev.tsv")})
    files = [str(tmp_path / name) for name in ("train.tsv", "elsewhere/dev.tsv", "train_more.tsv")]
    assert read_set("snli", str(tmp_path / "all.txt"))["part"].tolist() == ["whole"]
    assert read_set("snli", files[:2])["part"].tolist() == ["dev", "train"]
    with pytest.raises(ValueError, match=r"snli: .*train\.tsv and .*train_more\.tsv are both part train; name one"):
        read_set("snli", files)


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("dev.tsv", ["a\tb\tneutral", "a\tneutral"], r"dev\.tsv, line 2: 2 fields instead of 3; fetch"),
        ("dev.tsv", ["a\tb\tneutral", "a\tb\tc\tneutral"], r"line 2: 4 fields instead of 3"),
        ("dev.tsv", ["a\tb"], r"line 1: 2 columns, and no header with sentence1"),
        ("dev.tsv", ["a\tb\tno", f"no\tb\t{'a ' * 20}"], r"line 2: the label is .* must be a word or a number"),
        ("dev.tsv", [QUORA, "0\t1\t2\tWhy?\tHow?\t0", "1\t3\t4\tWhy?"], r"line 3: 4 fields instead of 6"),
        ("dev.jsonl", [snli("neutral", "a", "b"), '{"sentence1": "a'], r"dev\.jsonl, line 2: not a JSON object with"),
        ("dev.jsonl", ['{"text": "a", "gold_label": "neutral"}'], r"line 1: not a JSON object with sentence1"),
        ("dev.txt", [], r"dev\.txt is empty; fetch it again"),
    ],
)
def test_errors_name_file_and_line(name: str, lines: list[str], message: str, tmp_path: Path) -> None:
    write(tmp_path, {name: lines})
    with pytest.raises(ValueError, match=message):
        read_set("snli", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "content"),
    [("dev.tsv", b"a\tb\t\xff"), ("dev.tsv.gz", gzip.compress(b"a\tb\tc\n" * 99, mtime=0)[:-4])],
    ids=["bytes", "cut"],
)
def test_errors_name_damaged_files(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"dev\.tsv.* is damaged .*; fetch it again"):
        read_set("snli", str(tmp_path))


@pytest.mark.parametrize("source", ["nowhere", ["nowhere/dev.tsv"], "empty"])
def test_absent_files_are_missing(source: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"empty/README.txt": ["Nothing."]})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BenchmarkMissing, match=r"snli is not here: looked for .*\. Name the folder"):
        read_set("snli", source)
