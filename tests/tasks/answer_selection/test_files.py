"""Each published format, invalid files, and the real WikiQA."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contexture.tasks.answer_selection.files import Candidate, Question, read_questions
from contexture.tasks.answer_selection.sets import read_wikiqa, write_set
from contexture.tasks.missing import BenchmarkMissing

#: TREC-QA of jacana: tokens, parts of speech, dependencies, heads, entities; the answer and its position.
PSEUDO_XML = """<root>
<QApairs id='32.1'>
<question>
Where\tdo\tgulls\tnest\t?
WRB\tVBP\tNNS\tNN\t.
VMOD\tROOT\tSUB\tVMOD\tP
2\t0\t2\t2\t2
-\t-\tANIMAL-B\t-\t-
</question>
<positive>
Gulls\tnest\ton\t<num>\tcliffs\t.
NNS\tVBP\tIN\tCD\tNNS\t.
SUB\tROOT\tVMOD\tNMOD\tPMOD\tP
2\t0\t2\t5\t3\t2
-\t-\t-\t-\t-\t-
cliffs\t
5\t
</positive>
<negative>
<num>\tgulls\t.
CD\tNNS\t.
</negative>
</QApairs>
<QApairs id="32.2">
<question>
Who\tfeeds\tthem\t?
WP\tVBZ\tPRP\t.
</question>
<negative>
Nobody\t.
NN\t.
</negative>
</QApairs>
</root>
"""
QUESTIONS = [
    Question("32.1", "Where do gulls nest ?", [Candidate("0", "Gulls nest on <num> cliffs .", 1),
                                               Candidate("1", "<num> gulls .", 0)]),
    Question("32.2", "Who feeds them ?", [Candidate("0", "Nobody .", 0)]),
]  # fmt: skip
HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
ROWS = [
    'Q1\thow deep?\tD1\tSea\tD1-0\tA "sea".\t0',
    "Q1\thow deep?\tD1\tSea\tD1-1\tSix\x85miles\u2028deep.\t1",
    "Q2\twhy?\tD2\tSky\tD2-0\tBecause.\t1",
]
ASNQ = [
    ("where do gulls nest", "Gulls nest on cliffs .", 4),
    ("where do gulls nest", 'The "gull" .', 2),
    ("where do gulls nest", "Gulls .", 1),
    ("who feeds them", "Nobody .", 3),
]


def without_ids(questions: list[Question]) -> list[tuple[str, list[tuple[str, int]]]]:
    return [(question.text, [(c.text, c.label) for c in question.candidates]) for question in questions]


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def asnq(rows: list[tuple[str, str, int]]) -> str:
    return lines(*(f"{question}\t{sentence}\t{label}" for question, sentence, label in rows))


def read(path: Path, text: str) -> list[Question]:
    return list(read_questions(write(path, text)))


def write_tokens(folder: Path) -> Path:
    """Write a token folder as castorini does, in lower case."""
    rows = [(question, candidate) for question in QUESTIONS for candidate in question.candidates]
    write(folder / "a.toks", lines(*(question.text.lower() for question, _ in rows)))
    write(folder / "b.toks", lines(*(candidate.text.lower() for _, candidate in rows)))
    write(folder / "sim.txt", lines(*(str(candidate.label) for _, candidate in rows)))
    write(folder / "id.txt", lines(*(question.id for question, _ in rows)))
    return folder


def test_wikiqa(tmp_path: Path) -> None:
    questions = read(tmp_path / "train.tsv", lines(HEADER, *ROWS))
    assert questions == [
        Question("Q1", "how deep?", [Candidate("D1-0", 'A "sea".', 0, "Sea"),
                                     Candidate("D1-1", "Six\x85miles\u2028deep.", 1, "Sea")]),
        Question("Q2", "why?", [Candidate("D2-0", "Because.", 1, "Sky")]),
    ]  # fmt: skip
    for split in ("train", "dev", "test"):
        write(tmp_path / f"wikiqa/WikiQA-{split}.tsv", lines(HEADER, *ROWS))
    table = read_wikiqa(tmp_path / "wikiqa")
    columns = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]
    assert table.columns.tolist() == columns and table["position"].tolist() == [0, 1, 0] * 3
    assert table.iloc[4].tolist() == ["dev", "Q1", "how deep?", "D1-1", "Six\x85miles\u2028deep.", 1, "Sea", 1]
    assert table["label"].dtype == table["position"].dtype == "int64"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_bom_gzip_and_column_order_do_not_matter(tmp_path: Path, end: str, mark: str) -> None:
    questions = read(tmp_path / "plain.tsv", lines(HEADER, *ROWS))
    assert read(tmp_path / "train.tsv", mark + end.join([HEADER, *ROWS]) + end) == questions
    turned = ["\t".join(reversed(line.split("\t"))) for line in (HEADER, *ROWS)]
    assert read(tmp_path / "test.tsv.gz", mark + end.join(turned)) == questions


@pytest.mark.parametrize("name", ["test.xml", "test.xml.gz"])
@pytest.mark.parametrize("rooted", [True, False])
def test_pseudo_xml(name: str, rooted: bool, tmp_path: Path) -> None:
    text = PSEUDO_XML if rooted else PSEUDO_XML.replace("<root>\n", "").replace("</root>\n", "\n")
    assert read(tmp_path / name, text) == QUESTIONS
    again = read(tmp_path / name, text.replace('id="32.2"', "id='32.1'"))
    assert [(question.id, question.renamed) for question in again] == [("32.1", False), ("32.1#2", True)]


def test_json_lines(tmp_path: Path) -> None:
    rows = [{"question": text, "candidates": [{"sentence": sentence, "label": label} for sentence, label in candidates]}
            for text, candidates in without_ids(QUESTIONS)]  # fmt: skip
    questions = read(tmp_path / "dev.jsonl", "".join(json.dumps(row) + "\n\n" for row in rows))
    assert without_ids(questions) == without_ids(QUESTIONS)
    assert [question.id for question in questions] == ["1", "3"]


def test_token_folders(tmp_path: Path) -> None:
    questions = list(read_questions(write_tokens(tmp_path / "raw-test")))
    lower = [(text.lower(), [(c.lower(), label) for c, label in rows]) for text, rows in without_ids(QUESTIONS)]
    assert without_ids(questions) == lower and [question.id for question in questions] == ["32.1", "32.2"]
    write(tmp_path / "raw-test/id.txt", "1\n" * 3)
    again = list(read_questions(tmp_path / "raw-test"))
    assert without_ids(again) == lower
    assert [(question.id, question.renamed) for question in again] == [("1", False), ("1#2", True)]


def test_asnq(tmp_path: Path) -> None:
    questions = read(tmp_path / "train.tsv", asnq([*ASNQ, *ASNQ[:1]]))
    assert questions == [
        Question("1", ASNQ[0][0], [Candidate("0", "Gulls nest on cliffs .", 1), Candidate("1", 'The "gull" .', 0),
                                   Candidate("2", "Gulls .", 0)]),
        Question("2", "who feeds them", [Candidate("0", "Nobody .", 0)]),
        Question("1", ASNQ[0][0], [Candidate("3", "Gulls nest on cliffs .", 1)]),
    ]  # fmt: skip


BEFORE_SECOND = PSEUDO_XML[: PSEUDO_XML.index('<QApairs id="')]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", lines(HEADER, ROWS[0], ROWS[1] + "\textra"), r"line 3: 8 fields, but the header has 7; remove tabs"),
        ("a.tsv", lines(HEADER, ROWS[0], "Q1\thow"), r"line 3: 2 fields"),
        ("a.tsv", lines(HEADER, ROWS[0][:-1] + "2"), r"line 2: Label is '2'; it must be 0 or 1"),
        ("a.tsv", lines(HEADER, ROWS[0][:-1]), r"line 2: Label is ''"),
        ("a.tsv", lines(HEADER, ROWS[0], ROWS[0]), r"question Q1 has two candidates D1-0"),
        ("a.tsv", lines(HEADER, ROWS[0], ROWS[2], ROWS[1]), r"question Q1 is repeated with another text or after"),
        ("a.tsv", lines(HEADER, ROWS[0], ROWS[1].replace("how", "who")), r"question Q1 is repeated with another"),
        ("a.tsv", "\nQuestionID\n", r"line 2: no column Question, SentenceID, .*; the first line must"),
        ("a.tsv", "\n", r"is empty; fetch it again"),
        ("a.tsv", "\na\tb\n", r"line 2: unknown format: 'a\\tb'. Known are WikiQA's table with a header"),
        ("a.tsv", asnq(ASNQ) + "a\tb\t5\n", r"line 5: 'a\\tb\\t5' is not question, sentence and label"),
        ("a.tsv", asnq(ASNQ) + "a\tb\n", r"line 5: 'a\\tb' is not question, sentence"),
        ("a.tsv", "a\tb\t1.0\n", r"line 1: 'a\\tb\\t1.0' is not question, sentence and label"),
        ("a.xml", PSEUDO_XML.replace("</positive>\n", ""), r"line 18: <negative> before </positive>"),
        (
            "a.xml",
            PSEUDO_XML.replace("</QApairs>\n", "", 1),
            r"line 23: <QApairs id=\"32\.2\"> before </QApairs>",
        ),
        ("a.xml", PSEUDO_XML.replace("<negative>", "<wrong>", 1), r"line 19: '<wrong>' is not <QApairs id='…'>"),
        ("a.xml", PSEUDO_XML[: PSEUDO_XML.index("</negative>")], r"the file ends within <negative> of line 19"),
        ("a.xml", BEFORE_SECOND.replace("</QApairs>\n", ""), r"within question 32\.1"),
        (
            "a.xml",
            lines("<QApairs id='1'>", "<positive>", "A", "</positive>"),
            r"line 2: question 1 has no text before",
        ),
        ("a.xml", lines("<positive>", "A", "</positive>"), r"line 1: '<positive>' is not"),
        ("a.jsonl", '{"question": "a"}\n', r"line 1: not a JSON object .*KeyError: 'candidates'"),
        ("a.jsonl", '{"question": "a", "candidates": [{"sentence": "b", "label": 2}]}', r"line 1: .*label 2"),
        (
            "a.jsonl",
            '{"question": "a", "candidates": [{"sentence": 2, "label": 1}]}',
            r"line 1: .*sentence is not a string",
        ),
        (
            "a.jsonl",
            '{"question": "half \\ud800", "candidates": []}',
            r"line 1: not a JSON object .*UnicodeEncodeError",
        ),
        ("a.jsonl", '{"question": 3, "candidates": []}', r"line 1: .*question is not a string"),
        ("a.jsonl", '{"question": "a", "candidates": []}\n{"quest', r"line 2: not a JSON object"),
    ],
)
def test_invalid_files_raise_with_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"{name}.*{message}"):
        read(tmp_path / name, text)


def test_token_folders_with_different_lengths_raise(tmp_path: Path) -> None:
    folder = write_tokens(tmp_path / "dev")
    for labels, message in (("1\n0\n", r"dev: sim\.txt ends before line 3"),
                            ("1\nx\n0\n", r"sim\.txt, line 2: the label is 'x'")):  # fmt: skip
        (folder / "sim.txt").write_text(labels)
        with pytest.raises(ValueError, match=message):
            list(read_questions(folder))
    (folder / "id.txt").unlink()
    with pytest.raises(ValueError, match=r"dev: missing id\.txt; a token folder has a\.toks"):
        list(read_questions(folder))


PACKED = gzip.compress(PSEUDO_XML.encode() * 200)
#: Invalid block type.
UNKNOWN_BLOCK = PACKED[:10] + bytes([PACKED[10] | 0b111]) + PACKED[11:]


@pytest.mark.parametrize(
    ("name", "content"),
    [("train.xml.gz", PACKED[:-20]), ("train.xml.gz", UNKNOWN_BLOCK), ("train.tsv.gz", b"no gzip"),
     ("train.tsv", b"\xe9\tb\t1\n")],
)  # fmt: skip
def test_damaged_files_raise_with_path(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name} is damaged"):
        list(read_questions(tmp_path / name))


def test_missing_wikiqa_raises_with_remedy(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkMissing, match=r"WikiQA is not here: looked for .*nowhere.*\. Download") as caught:
        read_wikiqa(tmp_path / "nowhere")
    assert isinstance(caught.value, FileNotFoundError)
    write(tmp_path / "WikiQA-train.tsv", lines(HEADER))
    with pytest.raises(BenchmarkMissing, match=r"looked for .*\(wikiqa-dev or "):
        read_wikiqa(tmp_path)


def test_real_wikiqa_equals_its_qrels(shared_data: Path, tmp_path: Path) -> None:
    """The qrels number questions in file order from 1, and candidates from 0."""
    folder = shared_data / "answer_selection" / "wikiqa"
    table = read_wikiqa(folder)
    sizes = {split: (part["question_id"].nunique(), len(part)) for split, part in table.groupby("split")}
    assert sizes == {"train": (2_118, 20_360), "dev": (296, 2_733), "test": (633, 6_165)}
    assert table["label"].sum() == 1_473
    counts = write_set("wikiqa", folder, tmp_path / "wikiqa")
    known: dict[str, Any] = {
        f"{split}_{key}": count
        for split, size in {"train": (2118, 20360, 0), "dev": (122, 1126, 174), "test": (237, 2341, 396)}.items()
        for key, count in zip(("questions", "candidates", "questions_left_out"), size, strict=True)
        if count
    }
    assert known.items() <= counts.items()
    for split in ("dev", "test"):
        rows, kept = table[table["split"] == split], pd.read_parquet(tmp_path / f"wikiqa/{split}.parquet")
        order = {question: number for number, question in enumerate(rows["question_id"].unique(), start=1)}
        for part, name in ((rows, f"WikiQA-{split}.ref"), (kept, f"WikiQA-{split}-filtered.ref")):
            ours = [(order[row.question_id], row.position, row.label) for row in part.itertuples()]
            judged = [line.split() for line in (folder / name).read_text().splitlines()]
            assert ours == [(int(question), int(candidate), int(label)) for question, _, candidate, label in judged]
