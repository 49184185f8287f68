"""The reader of SQuAD: both layouts, the real files, and errors."""

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.retrieval.reqa import ReqaPassage, ReqaQuestion, reqa_counts, reqa_tables
from contexture.tasks.retrieval.squad import read_squad

CONTEXT = "Ash met Fen. Fen met Ash."


def squad(*answers: tuple[str, Any], context: str = CONTEXT) -> dict[str, Any]:
    records = [{"text": text, "answer_start": start} for text, start in answers]
    question = {"id": "q1", "question": "Who met Ash?", "answers": records}
    return {"version": "1.1", "data": [{"title": "Old_Days", "paragraphs": [{"context": context, "qas": [question]}]}]}


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_both_layouts(tmp_path: Path):
    """In the list layout the first occurrence of an answer counts."""
    path = write(tmp_path / "dev.json", squad(("Fen", 13), ("Fen", 8)))
    assert list(read_squad(path)) == [ReqaPassage("Old Days", CONTEXT, (ReqaQuestion("Who met Ash?", (13, 8)),))]
    rows = [
        {"context": CONTEXT, "question": "Who met Ash?", "answer": "Fen"},
        {"context": "Elsewhere.", "question": "Where?", "answer": "Else"},
        {"context": CONTEXT, "question": "Who met Fen?", "answer": "Ash"},
    ]
    assert list(read_squad(write(tmp_path / "slice.json", rows))) == [
        ReqaPassage("", CONTEXT, (ReqaQuestion("Who met Ash?", (8,)), ReqaQuestion("Who met Fen?", (0,)))),
        ReqaPassage("", "Elsewhere.", (ReqaQuestion("Where?", (0,)),)),
    ]


def test_several_files_and_folders(tmp_path: Path):
    write(tmp_path / "b.json", squad(("Fen", 13)))
    with gzip.open(tmp_path / "a.json.gz", "wb") as file:
        file.write(b"\xef\xbb\xbf" + json.dumps([{"context": "Étés.", "question": "?", "answer": "tés"}]).encode())
    (tmp_path / "notes.txt").write_text("no JSON")
    (tmp_path / ".c.json").write_text("being written")
    expected = [ReqaPassage("", "Étés.", (ReqaQuestion("?", (1,)),)), *read_squad(tmp_path / "b.json")]
    assert list(read_squad(tmp_path)) == expected
    assert list(read_squad([tmp_path / "a.json.gz", tmp_path / "b.json"])) == expected


def test_misplaced_answers_are_located_and_missing_ones_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = write(tmp_path / "dev.json", squad(("Fen", 12), ("Fen", 9), ("Fen", 900), ("Fen", -4), ("Oak", 0), ("", 99)))
    with caplog.at_level(logging.WARNING):
        (passage,) = read_squad(path)
    assert passage.questions[0].starts == (13, 8, 13, 8)
    assert "dev.json: 2 answers do not occur" in caplog.text


def test_missing_files_raise_with_a_remedy(tmp_path: Path):
    for source in (tmp_path, tmp_path / "dev.json", [tmp_path / "dev.json"], []):
        with pytest.raises(BenchmarkMissing, match=r"SQuAD is not here: looked for .*\.json\. Download train-v1\.1"):
            list(read_squad(source))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"data":\n [{"title"', r"dev\.json, line 2, column 11: broken JSON .* download the file again"),
        (b"", "line 1, column 1: broken JSON"),
        (b'[\n"\xff"]', "line 2, byte 3: not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'[{"context": "\\ud800"}]', r"dev\.json, line 1: half of a character"),
        (b"[" + b"1" * 5000 + b"]", r"dev\.json, line 1: .*4300 digits.* download the file again"),
        (b'{"questions": []}', r"dev\.json: no list under the key 'data'; a file must be"),
        (b'"text"', "no list under the key 'data'"),
        (b'{"data": [{"title": "A"}]}', r"data\[0\]: no list under the key 'paragraphs'"),
        (b'{"data": [7]}', r"data\[0\]: no list under the key 'paragraphs'"),
        (b'{"data": [{"paragraphs": [{"qas": []}]}]}', r"data\[0\]\.paragraphs\[0\]: no text under the key 'context'"),
        (b'[{"context": "a", "question": "b"}]', r"\[0\]: no text under the key 'answer'"),
        (
            json.dumps(squad(("Fen", "13"))).encode(),
            r"qas\[0\]\.answers\[0\]: no whole number under the key 'answer_start'",
        ),
    ],
)
def test_other_content_raises_with_its_position(tmp_path: Path, data: bytes, message: str):
    (tmp_path / "dev.json").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        list(read_squad(tmp_path))


def test_a_truncated_file_raises(tmp_path: Path):
    (tmp_path / "dev.json.gz").write_bytes(gzip.compress(json.dumps(squad(("Fen", 13))).encode())[:-20])
    with pytest.raises(ValueError, match=r"dev\.json\.gz, after line \d+: damaged or cut off"):
        list(read_squad(tmp_path))


#: Counts of the shared files; in dev 302 of the 10,570 questions have no answers and 29 are repeated.
REAL = {
    "squad_v1.1_dev": {"asked": 10570, "queries": 10237, "candidates": 10203, "tuples": 10268, "passages": 2067},
    "squad_train_slice_mrqa": {"asked": 4330, "queries": 4330, "candidates": 19207, "tuples": 4330, "passages": 3902},
}


@pytest.mark.parametrize("name", REAL)
def test_real_files(shared_data: Path, name: str):
    folder = shared_data / "question_answering" / name
    if not folder.is_dir():
        pytest.skip(f"real data absent: {folder}")
    passages = list(read_squad(folder))
    questions, candidates = reqa_tables(passages)
    counts = reqa_counts(questions, candidates)
    count = sum(len(passage.questions) for passage in passages)
    assert {"asked": count, **{key: counts[key] for key in REAL[name] if key != "asked"}} == REAL[name]
    assert 10 < counts["query_words"] < 11 and 160 < counts["document_words"] < 170
    assert candidates["candidate_id"].is_unique and questions["question_id"].is_unique
