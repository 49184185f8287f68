"""SentEval's formats: rows of lines, real files and errors."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contexture.tasks.missing import BenchmarkMissing
from contexture.tasks.sentences.senteval import (
    CLASSIFICATION,
    RELATEDNESS,
    SIMILARITY,
    read_classification,
    read_relatedness,
    read_similarity,
)

from .senteval_files import FILES, MRPC_HEADER, SICK_HEADER, write

READERS = {read_classification: CLASSIFICATION, read_relatedness: RELATEDNESS, read_similarity: SIMILARITY}
POLARITY = ("negative", "positive")
#: In SentEval's order.
CLASSES = {
    "mr": POLARITY,
    "cr": POLARITY,
    "subj": ("subjective", "objective"),
    "mpqa": POLARITY,
    "sst2": POLARITY,
    "sst5": ("very negative", "negative", "neutral", "positive", "very positive"),
    "trec": ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"),
    "mrpc": ("different", "paraphrase"),
    "sick_e": ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
}
RANGES = {"sick_r": (1, 5), "stsb": (0, 5)}
DROPPED = {"cr": 2, "sts15": 2, "sts16": 1}
#: Rows of the invented files: task; split or subset; sentences; class or score.
ROWS = """
mr; all; dull and grey; negative
mr; all; slow .; negative
mr; all; a joy; positive
cr; all; it broke; negative
cr; all; it works; positive
cr; all; light and quick; positive
subj; all; it sings; subjective
subj; all; it soars; subjective
subj; all; a boy leaves home; objective
mpqa; all; fear; negative
mpqa; all; welcomed; positive
sst2; train; a fine day; positive
sst2; train; a poor day; negative
sst2; dev; fine; positive
sst2; test; poor; negative
sst5; train; awful; very negative
sst5; train; superb; very positive
sst5; dev; so so; neutral
sst5; test; good; positive
trec; train; When is noon ?; NUM
trec; train; What is A : B ?; ABBR
trec; test; Where is Ash ?; LOC
mrpc; train; He said "no.; He refused.; paraphrase
mrpc; train; It rained.; It "snowed".; different
mrpc; test; One.; 1.; paraphrase
sick_e; train; A dog runs; A dog is running; ENTAILMENT
sick_e; dev; A dog runs; No dog runs; CONTRADICTION
sick_e; test; A dog runs; A man sings; NEUTRAL
sick_r; train; A dog runs; A dog is running; 4.9
sick_r; dev; A dog runs; No dog runs; 3.5
sick_r; test; A dog runs; A man sings; 1.0
stsb; train; He said "go.; He went.; 2.5
stsb; dev; Up.; Down.; 0.0
stsb; test; One.; 1.; 5.0
sts12; MSRvid; A man sings.; A man is singing.; 5.0
sts12; MSRvid; A cat.; A car.; 0.2
sts13; OnWN; to go; to leave; 3.0
sts14; OnWN; d; e; 2.0
sts14; deft-forum; b; c; 1.5
sts15; belief; x; y; 4.0
sts16; headlines; r; s; 3.0
"""


def expected_rows(name: str) -> list[tuple[Any, ...]]:
    """Return the expected rows of a task."""
    lines = [line.split("; ")[1:] for line in ROWS.strip().splitlines() if line.split("; ")[0] == name]
    classes = CLASSES.get(name)
    return [(*texts, classes.index(value) if classes else float(value)) for *texts, value in lines]


def read(folder: Path, name: str, *counts: Any) -> Any:
    reader = next(reader for reader, names in READERS.items() if name in names)
    return reader(folder, name, *counts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.mark.parametrize(("reader", "name"), [(reader, name) for reader, names in READERS.items() for name in names])
def test_a_line_becomes_a_row(folder: Path, reader: Any, name: str):
    task = reader(folder, name, "any")
    expected = expected_rows(name)
    if reader is read_similarity and name in RELATEDNESS:
        expected = [row for row in expected if row[0] == "test"]
    part, value = {
        read_classification: ("split", "label"),
        read_relatedness: ("split", "score"),
        read_similarity: ("subset", "score"),
    }[reader]
    columns = [part, *["text", "text2"][: len(expected[0]) - 2], value]
    pd.testing.assert_frame_equal(task.table, pd.DataFrame(expected, columns=columns))
    assert task.name == name and getattr(task, "dropped", 0) == DROPPED.get(name, 0)
    if reader is read_classification:
        assert (task.classes, task.pairs) == (CLASSES[name], "text2" in columns)
    if reader is read_relatedness:
        assert (task.low, task.high) == RANGES[name]


def test_gzipped_files_are_read(folder: Path):
    for name in FILES:
        path = folder / name
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    for reader, name in ((read_classification, "mr"), (read_classification, "mrpc"), (read_similarity, "sts14")):
        test_a_line_becomes_a_row(folder, reader, name)


def test_latin_1_where_a_file_is_no_utf_8_and_only_line_feeds_end_lines(folder: Path):
    (folder / "MR/rt-polarity.neg").write_bytes("caf\u00e9 noir\nwell\u0085 no\n".encode("latin-1"))
    (folder / "MR/rt-polarity.pos").write_bytes("caf\u00e9 au lait\u2028oui\n".encode())
    texts = read_classification(folder, "mr", "any").table["text"].tolist()
    assert texts == ["caf\u00e9 noir", "well\u0085 no", "caf\u00e9 au lait\u2028oui"]


@pytest.mark.parametrize(
    ("name", "file", "line"),
    [
        ("mrpc", "MRPC/msr_paraphrase_test.txt", "1\t1\t2\tOne.\t\n"),
        ("sick_e", "SICK/SICK_trial.txt", "9\t \tNo dog\t3.5\tNEUTRAL\n"),
        ("trec", "TREC/TREC_10.label", "LOC:city \n"),
        ("sst2", "SST/binary/sentiment-dev", "\t1\n"),
    ],
)
def test_an_empty_sentence_of_classification_is_counted(tmp_path: Path, name: str, file: str, line: str):
    task = read_classification(write(tmp_path, {file: FILES[file] + line}), name, "any")
    assert ([*task.table.itertuples(index=False, name=None)], task.dropped) == (expected_rows(name), 1)


MRPC, SICK, STSB = "MRPC/msr_paraphrase_test.txt", "SICK/SICK_trial.txt", "STS/STSBenchmark/sts-dev.csv"
PAIRS, SCORES = "STS/STS12-en-test/STS.input.MSRvid.txt", "STS/STS12-en-test/STS.gs.MSRvid.txt"


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("sst2", "SST/binary/sentiment-dev", "fine\t1\nfair\t2\n", "line 2: the label is '2'; it must be one of 0, 1$"),
        ("sst2", "SST/binary/sentiment-dev", "fine 1\n", "line 1: 1 fields; a line must be"),
        ("sst5", "SST/fine/sentiment-test", "good\t5\n", "line 1: the label is '5'; it must be one of 0, 1, 2, 3, 4"),
        ("trec", "TREC/TREC_10.label", "LOC:city Where ?\nPLACE:x Who ?\n", "line 2: the label is 'PLACE'"),
        ("trec", "TREC/TREC_10.label", "Where is Ash ?\n", "line 1: no `COARSE:fine ` before"),
        ("mrpc", MRPC, "Quality\t#1 String\n1\ta\n", "line 1: no column #2 String; the header"),
        ("mrpc", MRPC, f"{MRPC_HEADER}\n1\t1\t2\tOne.\n", "line 2: 4 fields, but .* 5"),
        ("mrpc", MRPC, f"{MRPC_HEADER}\nx\t1\t2\tOne.\t1.\n", "line 2: the label is 'x'"),
        ("mrpc", MRPC, MRPC_HEADER, "has no rows"),
        ("sick_e", SICK, f"{SICK_HEADER}\n2\ta\tb\t3\tMAYBE\n", "line 2: the label is 'MAYBE'"),
        ("mr", "MR/rt-polarity.pos", "", "has no rows; fetch it again"),
        ("sick_r", SICK, f"{SICK_HEADER}\n2\ta\tb\t0.5\tNEUTRAL\n", "line 2: .* '0.5'.* from 1 to 5"),
        ("sick_r", SICK, f"{SICK_HEADER}\n2\ta\tb\thigh\tNEUTRAL\n", "line 2: the score is 'high'"),
        ("sick_r", SICK, f"{SICK_HEADER}\n2\ta\tb\tnan\tNEUTRAL\n", "line 2: the score is 'nan'"),
        ("sick_r", SICK, f"{SICK_HEADER}\n2\ta\t\t3\tNEUTRAL\n", "line 2: an empty sentence in a pair"),
        ("sick_r", SICK, "sentence_A\tsentence_B\na\tb\n", "line 1: no column relatedness_score"),
        ("stsb", STSB, "n\tf\t1\t2\t5.1\ta\tb\n", "line 1: the score is '5.1'.* from 0 to 5"),
        ("stsb", STSB, "n\tf\t1\t2\t5.0\ta\n", "line 1: 6 fields; a line must have genre"),
        ("stsb", STSB, "n\tf\t1\t2\t5.0\ta\t \n", "line 1: an empty sentence"),
        ("sts12", SCORES, "5.000\n", "has 1 lines, but STS.input.MSRvid.txt has 2"),
        ("sts12", SCORES, "5\n-1\n", "line 2: the score is '-1'"),
        ("sts12", SCORES, "\n\n", "has no scores"),
        ("sts12", PAIRS, "a\tb\nc\n", "line 2: no tab; a line must be two"),
        ("sts12", PAIRS, "a\tb\nc\t\n", "line 2: an empty sentence in a pair"),
    ],
)
def test_errors_name_the_bad_line(tmp_path: Path, name: str, file: str, content: str, message: str):
    with pytest.raises(ValueError, match=f"(?s){Path(file).name}.*{message}"):
        read(write(tmp_path, {file: content}), name, "any")


def test_errors_name_the_damaged_file(folder: Path):
    path = folder / "MR/rt-polarity.pos"
    path.with_name("rt-polarity.pos.gz").write_bytes(gzip.compress(b"a joy\n" * 50)[:-12])
    path.unlink()
    with pytest.raises(ValueError, match=r"rt-polarity\.pos\.gz, after line \d+: damaged or cut off"):
        read_classification(folder, "mr", "any")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mr", r"rt-polarity\.neg has 2 rows where the published file has 5,331"),
        ("sst2", "sentiment-train has 2 rows where the published file has 67,349"),
        ("sst5", "sentiment-train has 2 rows where the published file has 8,544"),
        ("trec", r"train_5500\.label has 2 rows where the published file has 5,452"),
        ("mrpc", r"paraphrase_train\.txt has 2 rows where the published file has 4,076"),
        ("sick_e", r"SICK_train\.txt has 1 rows where the published file has 4,500"),
        ("stsb", r"sts-train\.csv has 1 rows where the published file has 5,749"),
        ("sts16", r"gs\.answer-answer\.txt has 253 scores where the published file has 254"),
    ],
)
def test_errors_name_the_wrong_row_count(folder: Path, name: str, message: str):
    year = folder / "STS/STS16-en-test"
    (year / "STS.input.answer-answer.txt").write_text("a\tb\n" * 1_572)
    (year / "STS.gs.answer-answer.txt").write_text("3\n" * 253 + "\n" * 1_319)
    with pytest.raises(ValueError, match=rf'{message}; fetch it again, or set row_counts \(--counts\) to "any"'):
        read(folder, name)


@pytest.mark.parametrize("reader", READERS)
def test_errors_name_absent_files_and_unknown_tasks(tmp_path: Path, reader: Any):
    for name in READERS[reader]:
        with pytest.raises(BenchmarkMissing, match=rf"looked for {tmp_path}.*\. Name SentEval"):
            reader(tmp_path, name, "any")
    with pytest.raises(ValueError, match=r"unknown \w+ task 'sts17'; (did you mean|known: \w+)"):
        reader(tmp_path, "sts17")


def test_the_published_subsets_must_all_be_there(folder: Path):
    with pytest.raises(BenchmarkMissing, match=r"STS12 is not here: looked for .*STS\.input\.MSRpar\.txt"):
        read_similarity(folder, "sts12")
    (folder / "STS/STS12-en-test/STS.input.MSRpar.txt").write_text("a\tb\n")
    (folder / "STS/STS12-en-test/STS.gs.MSRpar.txt").write_text("1\n")
    with pytest.raises(ValueError, match=r"STS\.input\.MSRpar\.txt has 1 rows where the published file has 750"):
        read_similarity(folder, "sts12")


#: Rows of the real files, by split and label; the two empty lines of each file of CR are not among them.
REAL: dict[str, dict[str, list[int]]] = {
    "mr": {"all": [5_331, 5_331]},
    "cr": {"all": [1_366, 2_405]},
    "subj": {"all": [5_000, 5_000]},
    "mpqa": {"all": [7_294, 3_312]},
    "sst2": {"train": [29_780, 37_569], "dev": [428, 444], "test": [912, 909]},
    "sst5": {
        "train": [1_092, 2_218, 1_624, 2_322, 1_288],
        "dev": [139, 289, 229, 279, 165],
        "test": [279, 633, 389, 510, 399],
    },
    "trec": {"train": [86, 1_162, 1_250, 1_223, 835, 896], "test": [9, 138, 94, 65, 81, 113]},
    "mrpc": {"train": [1_323, 2_753], "test": [578, 1_147]},
    "sick_e": {"train": [665, 2_536, 1_299], "dev": [74, 282, 144], "test": [720, 2_793, 1_414]},
}


def read_real(shared_data: Path, reader: Any, name: str) -> Any:
    try:
        return reader(shared_data / "senteval/data/downstream", name)
    except BenchmarkMissing as absent:
        pytest.skip(str(absent))


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_real_classification(shared_data: Path, name: str):
    task = read_real(shared_data, read_classification, name)
    counts = Counter(zip(task.table["split"], task.table["label"], strict=True))
    assert counts == {(split, label): n for split, sizes in REAL[name].items() for label, n in enumerate(sizes)}
    assert task.dropped == (4 if name == "cr" else 0)
    for column in {"text", "text2"} & set(task.table):
        assert (task.table[column] == task.table[column].str.strip()).all() and task.table[column].ne("").all()


@pytest.mark.parametrize(("name", "sizes"), [("sick_r", (4_500, 500, 4_927)), ("stsb", (5_749, 1_500, 1_379))])
def test_real_relatedness(shared_data: Path, name: str, sizes: tuple[int, ...]):
    task = read_real(shared_data, read_relatedness, name)
    assert task.table["split"].value_counts().to_dict() == dict(zip(("train", "dev", "test"), sizes, strict=True))
    assert task.table["score"].agg(["min", "max"]).tolist() == [task.low, task.high]  # both ends occur


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sts12", (3_108, 5, 0)),
        ("sts13", (1_500, 3, 0)),
        ("sts14", (3_750, 6, 0)),
        ("sts15", (3_000, 5, 5_500)),
        ("sts16", (1_186, 5, 7_997)),
        ("stsb", (1_379, 1, 0)),
        ("sick_r", (4_927, 1, 0)),
    ],
)
def test_real_similarity(shared_data: Path, name: str, sizes: tuple[int, int, int]):
    task = read_real(shared_data, read_similarity, name)
    assert (len(task.table), task.table["subset"].nunique(), task.dropped) == sizes
