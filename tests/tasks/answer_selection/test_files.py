"""The WikiQA reader: the real files, their official relevance judgements, and every way to be wrong."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from contexture.tasks.answer_selection.files import read_questions
from contexture.tasks.answer_selection.sets import read_wikiqa, write_set
from contexture.tasks.missing import BenchmarkMissing

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"
ROWS = [
    'Q1\thow deep?\tD1\tSea\tD1-0\tA "sea".\t0',
    "Q1\thow deep?\tD1\tSea\tD1-1\tSix\x85miles\u2028deep.\t1",
    "Q2\twhy?\tD2\tSky\tD2-0\tBecause.\t1",
]


def write(folder: Path, text: str, name: str = "WikiQA-train.tsv") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(text.encode())
    return path


def read(folder: Path, *lines: str) -> pd.DataFrame:
    """The rows of train; all splits have the same file."""
    for split in ("train", "dev", "test"):
        write(folder, "\n".join(lines) + "\n", f"WikiQA-{split}.tsv")
    table = read_wikiqa(folder)
    return table[table["split"] == "train"]


def test_a_row_becomes_a_row(tmp_path: Path):
    table = read(tmp_path, HEADER, *ROWS)
    columns = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]
    assert table.columns.tolist() == columns
    assert table.iloc[1].tolist() == ["train", "Q1", "how deep?", "D1-1", "Six\x85miles\u2028deep.", 1, "Sea", 1]
    assert table["position"].tolist() == [0, 1, 0]
    assert table["candidate"].iloc[0] == 'A "sea".'
    assert table["label"].dtype == table["position"].dtype == "int64"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_marks_gzip_and_column_order_do_not_matter(tmp_path: Path, end: str, mark: str):
    lines = [HEADER, *ROWS]
    for split in ("train", "dev"):
        write(tmp_path, mark + end.join(lines) + end, f"WikiQA-{split}.tsv")
    turned = ["\t".join(reversed(line.split("\t"))) for line in lines]
    with gzip.open(tmp_path / "WikiQA-test.tsv.gz", "wb") as file:
        file.write((mark + end.join(turned)).encode())
    table = read_wikiqa(tmp_path)
    plain = read(tmp_path / "plain", *lines).drop(columns="split")
    for _, part in table.groupby("split"):
        pd.testing.assert_frame_equal(part.drop(columns="split").reset_index(drop=True), plain)


def test_published_counts(shared_data: Path):
    raw = read_wikiqa(shared_data / "answer_selection" / "wikiqa")
    assert _counts(raw) == {"train": (2_118, 20_360), "dev": (296, 2_733), "test": (633, 6_165)}
    assert raw["label"].sum() == 1_473


@pytest.mark.parametrize("split", ["dev", "test"])
def test_official_judgements(shared_data: Path, split: str, tmp_path: Path):
    """The qrels number the questions of a split from 1 (dev) or in file order, and the candidates from 0."""
    folder = shared_data / "answer_selection" / "wikiqa"
    table = read_wikiqa(folder)
    table = table[table["split"] == split]
    write_set("wikiqa", folder, tmp_path / "wikiqa")
    kept = pd.read_parquet(tmp_path / f"wikiqa/{split}.parquet")
    order = {question: number for number, question in enumerate(table["question_id"].unique(), start=1)}
    for rows, name in ((table, f"WikiQA-{split}.ref"), (kept, f"WikiQA-{split}-filtered.ref")):
        ours = [(order[row.question_id], row.position, row.label) for row in rows.itertuples()]
        lines = [line.split() for line in (folder / name).read_text().splitlines()]
        assert ours == [(int(question), int(candidate), int(label)) for question, _, candidate, label in lines]


def test_absent_data_is_named_with_a_remedy(tmp_path: Path):
    with pytest.raises(BenchmarkMissing, match=r"WikiQA is not here: looked for .*nowhere.*\. Download") as caught:
        read_wikiqa(tmp_path / "nowhere")
    assert isinstance(caught.value, FileNotFoundError)
    write(tmp_path, HEADER + "\n")
    with pytest.raises(BenchmarkMissing, match=r"looked for .*\(wikiqa-dev or "):
        read_wikiqa(tmp_path)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["QuestionID\tQuestion\tSentenceID\tSentence"], r"line 1: no column Label, DocumentTitle; the first line"),
        ([""], "is empty"),
        ([HEADER, ROWS[0], ROWS[1] + "\textra"], r"line 3: 8 fields where the header has 7; remove tabs"),
        ([HEADER, ROWS[0], "Q1\thow"], r"line 3: 2 fields"),
        ([HEADER, ROWS[0][:-1] + "2"], r"line 2: Label is '2'; it must be 0 or 1"),
        ([HEADER, ROWS[0][:-1]], r"line 2: Label is ''"),
        ([HEADER, ROWS[0], ROWS[0]], r"question Q1 has two candidates D1-0"),
        (
            [HEADER, ROWS[0], ROWS[2], ROWS[1]],
            r"question Q1 comes again, with another text or after others; let the candidates of a question",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, lines: list[str], message: str):
    with pytest.raises(ValueError, match=rf"WikiQA-train\.tsv.*{message}"):
        read(tmp_path, *lines)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.tsv.gz", gzip.compress("\n".join([HEADER, *ROWS]).encode())[:-12]),
        ("train.tsv.gz", b"no gzip"),
        ("train.tsv", b"QuestionID\xe9"),
    ],
)
def test_damaged_files_are_named(name: str, content: bytes, tmp_path: Path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name} is damaged"):
        list(read_questions(tmp_path / name))


def _counts(table: pd.DataFrame) -> dict[str, tuple[int, int]]:
    return {
        str(split): (part["question_id"].nunique(), len(part)) for split, part in table.groupby("split", sort=False)
    }
