"""SentEval's formats: what each line becomes, what the real files hold, and every way to be wrong."""

import gzip
from collections import Counter
from pathlib import Path

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

CLASSIFIED = {
    "mr": [("all", "dull and grey", "negative"), ("all", "slow .", "negative"), ("all", "a joy", "positive")],
    "cr": [("all", "it broke", "negative"), ("all", "it works", "positive"), ("all", "light and quick", "positive")],
    "subj": [
        ("all", "it sings", "subjective"),
        ("all", "it soars", "subjective"),
        ("all", "a boy leaves home", "objective"),
    ],
    "mpqa": [("all", "fear", "negative"), ("all", "welcomed", "positive")],
    "sst2": [
        ("train", "a fine day", "positive"),
        ("train", "a poor day", "negative"),
        ("dev", "fine", "positive"),
        ("test", "poor", "negative"),
    ],
    "sst5": [
        ("train", "awful", "very negative"),
        ("train", "superb", "very positive"),
        ("dev", "so so", "neutral"),
        ("test", "good", "positive"),
    ],
    "trec": [
        ("train", "When is noon ?", "NUM"),
        ("train", "What is A : B ?", "ABBR"),
        ("test", "Where is Ash ?", "LOC"),
    ],
    "mrpc": [
        ("train", 'He said "no.', "He refused.", "paraphrase"),
        ("train", "It rained.", 'It "snowed".', "different"),
        ("test", "One.", "1.", "paraphrase"),
    ],
    "sick_e": [
        ("train", "A dog runs", "A dog is running", "ENTAILMENT"),
        ("dev", "A dog runs", "No dog runs", "CONTRADICTION"),
        ("test", "A dog runs", "A man sings", "NEUTRAL"),
    ],
}
SCORED = {
    "sick_r": [
        ("train", "A dog runs", "A dog is running", 4.9),
        ("dev", "A dog runs", "No dog runs", 3.5),
        ("test", "A dog runs", "A man sings", 1.0),
    ],
    "stsb": [("train", 'He said "go.', "He went.", 2.5), ("dev", "Up.", "Down.", 0.0), ("test", "One.", "1.", 5.0)],
}
SIMILAR = {
    "sts12": ([("MSRvid", "A man sings.", "A man is singing.", 5.0), ("MSRvid", "A cat.", "A car.", 0.2)], 0),
    "sts13": ([("OnWN", "to go", "to leave", 3.0)], 0),
    "sts14": ([("OnWN", "d", "e", 2.0), ("deft-forum", "b", "c", 1.5)], 0),
    "sts15": ([("belief", "x", "y", 4.0)], 2),
    "sts16": ([("headlines", "r", "s", 3.0)], 1),
    "stsb": ([("test", "One.", "1.", 5.0)], 0),
    "sick_r": ([("test", "A dog runs", "A man sings", 1.0)], 0),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path)


def test_the_names_are_those_of_the_records():
    assert set(CLASSIFICATION) == set(CLASSIFIED) and set(RELATEDNESS) == set(SCORED)
    assert set(SIMILARITY) == set(SIMILAR)


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classification(folder: Path, name: str):
    task = read_classification(folder, name, "any")
    rows = [(*row[:-1], task.classes[row[-1]]) for row in task.table.itertuples(index=False, name=None)]
    assert rows == CLASSIFIED[name]
    assert task.name == name and task.pairs == (name in ("mrpc", "sick_e"))
    assert task.dropped == (2 if name == "cr" else 0)
    assert task.table["label"].dtype == "int64"
    assert task.table.columns.tolist() == ["split", "text", *(["text2"] if task.pairs else []), "label"]


def test_labels_have_senteval_s_order(folder: Path):
    order = {name: read_classification(folder, name, "any").classes for name in CLASSIFICATION}
    assert order["mr"] == order["cr"] == order["mpqa"] == order["sst2"] == ("negative", "positive")
    assert order["subj"] == ("subjective", "objective") and order["mrpc"] == ("different", "paraphrase")
    assert order["sst5"] == ("very negative", "negative", "neutral", "positive", "very positive")
    assert order["trec"] == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert order["sick_e"] == ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


@pytest.mark.parametrize("name", RELATEDNESS)
def test_relatedness(folder: Path, name: str):
    task = read_relatedness(folder, name, "any")
    assert list(task.table.itertuples(index=False, name=None)) == SCORED[name]
    assert (task.low, task.high) == {"sick_r": (1, 5), "stsb": (0, 5)}[name]
    assert task.table.columns.tolist() == ["split", "text", "text2", "score"]
    assert task.table["score"].dtype == "float64"


@pytest.mark.parametrize("name", SIMILARITY)
def test_similarity(folder: Path, name: str):
    task = read_similarity(folder, name, "any")
    assert (list(task.table.itertuples(index=False, name=None)), task.dropped) == SIMILAR[name]
    assert task.table.columns.tolist() == ["subset", "text", "text2", "score"]


def test_gzip_beside_plain_files(folder: Path):
    for name in FILES:
        path = folder / name
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    test_classification(folder, "mrpc")
    test_similarity(folder, "sts14")
    test_relatedness(folder, "stsb")


def test_latin_1_where_a_file_is_no_utf_8_and_only_line_feeds_end_lines(folder: Path):
    (folder / "MR/rt-polarity.neg").write_bytes("caf\u00e9 noir\nwell\u0085 no\n".encode("latin-1"))
    (folder / "MR/rt-polarity.pos").write_bytes("caf\u00e9 au lait\u2028oui\n".encode())
    texts = read_classification(folder, "mr", "any").table["text"].tolist()
    assert texts == ["caf\u00e9 noir", "well\u0085 no", "caf\u00e9 au lait\u2028oui"]


@pytest.mark.parametrize(("name", "dropped"), [("mrpc", 1), ("sick_e", 1), ("trec", 1), ("sst2", 1)])
def test_an_empty_sentence_of_classification_is_counted(tmp_path: Path, name: str, dropped: int):
    changed = {
        "MRPC/msr_paraphrase_test.txt": f"{MRPC_HEADER}\n1\t1\t2\tOne.\t1.\n1\t1\t2\tOne.\t\n",
        "SICK/SICK_trial.txt": FILES["SICK/SICK_trial.txt"] + "9\t \tNo dog\t3.5\tNEUTRAL\n",
        "TREC/TREC_10.label": FILES["TREC/TREC_10.label"] + "LOC:city \n",
        "SST/binary/sentiment-dev": FILES["SST/binary/sentiment-dev"] + "\t1\n",
    }
    task = read_classification(write(tmp_path, changed), name, "any")
    assert len(task.table) == len(CLASSIFIED[name]) and task.dropped == dropped


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("sst2", "SST/binary/sentiment-dev", "fine\t1\nfair\t2\n", "line 2: the label is '2'; it must be one of 0, 1$"),
        ("sst2", "SST/binary/sentiment-dev", "fine 1\n", "line 1: 1 fields; a line must be"),
        ("sst5", "SST/fine/sentiment-test", "good\t5\n", "line 1: the label is '5'; it must be one of 0, 1, 2, 3, 4"),
        ("trec", "TREC/TREC_10.label", "LOC:city Where ?\nPLACE:x Who ?\n", "line 2: the label is 'PLACE'"),
        ("trec", "TREC/TREC_10.label", "Where is Ash ?\n", "line 1: no `COARSE:fine ` before"),
        (
            "mrpc",
            "MRPC/msr_paraphrase_test.txt",
            "Quality\t#1 String\n1\ta\n",
            "line 1: no column #2 String; the first",
        ),
        ("mrpc", "MRPC/msr_paraphrase_test.txt", f"{MRPC_HEADER}\n1\t1\t2\tOne.\n", "line 2: 4 fields where .* 5"),
        ("mrpc", "MRPC/msr_paraphrase_test.txt", f"{MRPC_HEADER}\nx\t1\t2\tOne.\t1.\n", "line 2: the label is 'x'"),
        ("mrpc", "MRPC/msr_paraphrase_test.txt", MRPC_HEADER, "has no rows"),
        ("sick_e", "SICK/SICK_trial.txt", f"{SICK_HEADER}\n2\ta\tb\t3\tMAYBE\n", "line 2: the label is 'MAYBE'"),
        ("mr", "MR/rt-polarity.pos", "", "has no rows; fetch it again"),
        ("sick_r", "SICK/SICK_trial.txt", f"{SICK_HEADER}\n2\ta\tb\t0.5\tNEUTRAL\n", "line 2: .* '0.5'.* from 1 to 5"),
        ("sick_r", "SICK/SICK_trial.txt", f"{SICK_HEADER}\n2\ta\tb\thigh\tNEUTRAL\n", "line 2: the score is 'high'"),
        ("sick_r", "SICK/SICK_trial.txt", f"{SICK_HEADER}\n2\ta\tb\tnan\tNEUTRAL\n", "line 2: the score is 'nan'"),
        (
            "sick_r",
            "SICK/SICK_trial.txt",
            f"{SICK_HEADER}\n2\ta\t\t3\tNEUTRAL\n",
            "line 2: an empty sentence in a pair",
        ),
        ("sick_r", "SICK/SICK_trial.txt", "sentence_A\tsentence_B\na\tb\n", "line 1: no column relatedness_score"),
        ("stsb", "STS/STSBenchmark/sts-dev.csv", "n\tf\t1\t2\t5.1\ta\tb\n", "line 1: the score is '5.1'.* from 0 to 5"),
        ("stsb", "STS/STSBenchmark/sts-dev.csv", "n\tf\t1\t2\t5.0\ta\n", "line 1: 6 fields; a line must have genre"),
        ("stsb", "STS/STSBenchmark/sts-dev.csv", "n\tf\t1\t2\t5.0\ta\t \n", "line 1: an empty sentence"),
        ("sts12", "STS/STS12-en-test/STS.gs.MSRvid.txt", "5.000\n", "has 1 lines where STS.input.MSRvid.txt has 2"),
        ("sts12", "STS/STS12-en-test/STS.gs.MSRvid.txt", "5\n-1\n", "line 2: the score is '-1'"),
        ("sts12", "STS/STS12-en-test/STS.gs.MSRvid.txt", "\n\n", "has no scores"),
        ("sts12", "STS/STS12-en-test/STS.input.MSRvid.txt", "a\tb\nc\n", "line 2: no tab; a line must be two"),
        ("sts12", "STS/STS12-en-test/STS.input.MSRvid.txt", "a\tb\nc\t\n", "line 2: an empty sentence in a pair"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, name: str, file: str, content: str, message: str):
    write(tmp_path, {file: content})
    read = next(read for read, names in READERS.items() if name in names)
    with pytest.raises(ValueError, match=f"(?s){Path(file).name}.*{message}"):
        read(tmp_path, name, "any")


def test_a_damaged_file_is_named(folder: Path):
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
        ("sts16", r"STS\.input\.headlines\.txt has 2 rows where the published file has 1,498"),
    ],
)
def test_a_wrong_row_count_is_named_with_the_way_out(folder: Path, name: str, message: str):
    for subset in ("answer-answer", "plagiarism", "postediting", "question-question"):
        pairs, scores = {"answer-answer": (1572, 254)}.get(subset, (1, 1))
        at = folder / "STS/STS16-en-test"
        (at / f"STS.input.{subset}.txt").write_text("a\tb\n" * pairs)
        (at / f"STS.gs.{subset}.txt").write_text("3\n" * scores + "\n" * (pairs - scores))
    read = next(read for read, names in READERS.items() if name in names)
    with pytest.raises(ValueError, match=rf'{message}; fetch it again, or set counts to "any"'):
        read(folder, name)


def test_the_scores_of_a_year_are_counted_too(folder: Path):
    at = folder / "STS/STS16-en-test"
    (at / "STS.input.answer-answer.txt").write_text("a\tb\n" * 1_572)
    (at / "STS.gs.answer-answer.txt").write_text("3\n" * 253 + "\n" * 1_319)
    with pytest.raises(ValueError, match=r"gs\.answer-answer\.txt has 253 scores where the published file has 254"):
        read_similarity(folder, "sts16")


@pytest.mark.parametrize("name", [*CLASSIFICATION, *RELATEDNESS, *SIMILARITY])
def test_absent_files_are_named_with_a_remedy(tmp_path: Path, name: str):
    for read, names in READERS.items():
        if name in names:
            with pytest.raises(BenchmarkMissing, match=rf"looked for {tmp_path}.*\. Name the folder that SentEval"):
                read(tmp_path, name, "any")


def test_the_published_subsets_must_all_be_there(folder: Path):
    with pytest.raises(BenchmarkMissing, match=r"STS12 is not here: looked for .*STS\.input\.MSRpar\.txt"):
        read_similarity(folder, "sts12")


def test_unknown_tasks_are_refused(tmp_path: Path):
    for read in READERS:
        with pytest.raises(ValueError, match=r"task is called 'sts17'; there are \w+"):
            read(tmp_path, "sts17")


READERS = {read_classification: CLASSIFICATION, read_relatedness: RELATEDNESS, read_similarity: SIMILARITY}

#: What the real files hold, by split and label; the two empty lines of each file of CR are not among them.
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


@pytest.fixture(scope="session")
def real(shared_data: Path) -> Path:
    return shared_data / "senteval" / "data" / "downstream"


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_real_classification(real: Path, name: str):
    try:
        task = read_classification(real, name)
    except BenchmarkMissing as absent:
        pytest.skip(str(absent))
    counts = Counter(zip(task.table["split"], task.table["label"], strict=True))
    expected = {(split, label): n for split, sizes in REAL[name].items() for label, n in enumerate(sizes)}
    assert counts == expected
    assert task.dropped == (4 if name == "cr" else 0)
    for column in {"text", "text2"} & set(task.table):
        assert (task.table[column] == task.table[column].str.strip()).all() and task.table[column].ne("").all()


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sick_r", {"train": 4_500, "dev": 500, "test": 4_927}),
        ("stsb", {"train": 5_749, "dev": 1_500, "test": 1_379}),
    ],
)
def test_real_relatedness(real: Path, name: str, sizes: dict[str, int]):
    task = read_relatedness(real, name)
    assert task.table["split"].value_counts().to_dict() == sizes
    assert task.table["score"].between(task.low, task.high).all()
    # Both ends are given by somebody.
    assert (task.table["score"].min(), task.table["score"].max()) == (task.low, task.high)


@pytest.mark.parametrize(
    ("name", "pairs", "subsets", "dropped"),
    [
        ("sts12", 3_108, 5, 0),
        ("sts13", 1_500, 3, 0),
        ("sts14", 3_750, 6, 0),
        ("sts15", 3_000, 5, 5_500),
        ("sts16", 1_186, 5, 7_997),
        ("stsb", 1_379, 1, 0),
        ("sick_r", 4_927, 1, 0),
    ],
)
def test_real_similarity(real: Path, name: str, pairs: int, subsets: int, dropped: int):
    try:
        task = read_similarity(real, name)
    except BenchmarkMissing as absent:
        pytest.skip(str(absent))
    assert (len(task.table), task.table["subset"].nunique(), task.dropped) == (pairs, subsets, dropped)
