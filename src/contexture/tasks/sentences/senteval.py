"""Readers of SentEval's tasks (Conneau and Kiela, 2018) in the layout of its `data/downstream`.

Sentences are not tokenized, unlike in some of SentEval's scripts. Labels have SentEval's order. Files must have the
published number of rows unless `counts` is "any".
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from contexture.messages import explain_unknown
from contexture.tasks.sentences.files import (
    RowCounts,
    find_file,
    parse_label,
    parse_score,
    parse_sentence,
    read_columns,
    read_lines,
)
from contexture.tasks.sentences.sts import HIGH, LOW, YEARS, read_year
from contexture.tasks.sentences.tables import ClassificationTask, RelatednessTask, SimilarityTask

#: Rows of a file: line number, one or two sentences, label or score.
_Rows = Iterator[tuple[int, list[str], str]]
#: Columns of STS-B: genre, file, year, number, score, two sentences; some lines have sources after them.
_STSB_COLUMNS = 7


@dataclass(frozen=True)
class _TaskFiles:
    """Files of a task."""

    benchmark: str
    #: Reader of a file; raises ValueError for another number of rows than published, if given.
    read: Callable[[Path, int | None], _Rows]
    #: Split, path, published rows.
    files: tuple[tuple[str, str, int], ...]

    def rows(self, folder: Path, counts: RowCounts) -> Iterator[tuple[str, Path, int, list[str], str]]:
        """Yield split, file, line number, stripped sentences, and label or score of each row.

        Raises ValueError if a file has not its published number of rows, unless `counts` is "any"."""
        for split, relative, published in self.files:
            path = find_file(self.benchmark, folder, relative)
            for number, texts, value in self.read(path, published if counts == "published" else None):
                yield split, path, number, [text.strip() for text in texts], value


def read_classification(folder: Path, name: str, counts: RowCounts = "published") -> ClassificationTask:
    """Return the sentences and classes of a task of `CLASSIFICATION`, by split.

    MR, CR, SUBJ and MPQA have one split, `all`; TREC and MRPC have no `dev`. Lines with an empty sentence are skipped
    and counted in `dropped` (four in the published CR). Tables of MR, CR, SUBJ and MPQA have label 0 before label 1:
    shuffle or stratify folds.

    Raises:
        BenchmarkMissing: a file of the task is absent from `folder`.
        ValueError: unknown task; or, with file, line and remedy, a wrong format, label or number of rows.
    """
    _check_name(name, CLASSIFICATION, "classification")
    source, classes = _CLASSIFICATION[name]
    rows = [
        (split, texts, parse_label(path, number, value, [*classes]))
        for split, path, number, texts, value in source.rows(folder, counts)
    ]
    complete = [(split, *texts, number) for split, texts, number in rows if all(texts)]
    columns = ["split", *["text", "text2"][: len(rows[0][1])], "label"]
    table = pd.DataFrame(complete, columns=columns).astype({"label": "int64"})
    return ClassificationTask(name, tuple(classes.values()), table, dropped=len(rows) - len(complete))


def read_relatedness(folder: Path, name: str, counts: RowCounts = "published") -> RelatednessTask:
    """Return the scored pairs of a task of `RELATEDNESS`: SICK-R, from 1 to 5, or STS-B, from 0 to 5.

    Arguments and errors are those of `read_classification`. Scores out of range and empty sentences also raise
    ValueError.
    """
    _check_name(name, RELATEDNESS, "relatedness")
    source, low, high = _RELATEDNESS[name]
    rows = [
        (split, *(parse_sentence(path, number, text) for text in texts), parse_score(path, number, value, low, high))
        for split, path, number, texts, value in source.rows(folder, counts)
    ]
    return RelatednessTask(name, low, high, pd.DataFrame(rows, columns=["split", "text", "text2", "score"]))


def read_similarity(folder: Path, name: str, counts: RowCounts = "published") -> SimilarityTask:
    """Return the scored pairs of a task of `SIMILARITY`: a year of STS, or the test split of STS-B or SICK-R.

    Arguments and errors are those of `read_relatedness`. STS13 excludes SMT, whose sentences need a licence.
    """
    _check_name(name, SIMILARITY, "similarity")
    if name in YEARS:
        return read_year(folder, name, counts)
    table = read_relatedness(folder, name, counts).table
    test = table[table["split"] == "test"].rename(columns={"split": "subset"})
    return SimilarityTask(name, test.reset_index(drop=True))


def _check_name(name: str, names: Collection[str], kind: str) -> None:
    """Raise ValueError if `name` is not among the tasks of this kind."""
    if name not in names:
        raise ValueError(explain_unknown(f"{kind} task", [name], names))


def _class_rows(path: Path, published: int | None) -> _Rows:
    """Yield each line as number, sentence and label; the suffix of the file is the label of all lines."""
    ending = path.name.removesuffix(".gz").rpartition(".")[2]
    for number, line in enumerate(read_lines(path, published), start=1):
        yield number, [line], ending


def _sst_rows(path: Path, published: int | None) -> _Rows:
    """Yield line number, sentence and label of each line of an SST file."""
    for number, line in enumerate(read_lines(path, published), start=1):
        fields = line.split("\t")
        if len(fields) != 2:
            raise ValueError(
                f"{path}, line {number}: {len(fields)} fields; a line must be a sentence, a tab and a label"
            )
        yield number, fields[:1], fields[1].strip()


def _trec_rows(path: Path, published: int | None) -> _Rows:
    """Yield line number, question and coarse class of each line of a TREC file."""
    for number, line in enumerate(read_lines(path, published), start=1):
        kinds, _, question = line.partition(" ")
        coarse, colon, _ = kinds.partition(":")
        if not colon:
            raise ValueError(f"{path}, line {number}: no `COARSE:fine ` before the question; fetch the file again")
        yield number, [question], coarse


def _stsb_rows(path: Path, published: int | None) -> _Rows:
    """Yield line number, both sentences and score of each line of an STS-B file."""
    for number, line in enumerate(read_lines(path, published), start=1):
        fields = line.split("\t")
        if len(fields) < _STSB_COLUMNS:
            raise ValueError(
                f"{path}, line {number}: {len(fields)} fields; a line must have genre, file, year, number, score and "
                "two sentences, separated by tabs"
            )
        yield number, fields[5:7], fields[4]


def _column_reader(*names: str) -> Callable[[Path, int | None], _Rows]:
    """Return a reader of table files that yields these columns: sentences, then label or score."""

    def read_named_columns(path: Path, published: int | None) -> _Rows:
        for number, (*texts, value) in enumerate(read_columns(path, names, published), start=2):
            yield number, texts, value

    return read_named_columns


def _class_files(benchmark: str, first: tuple[str, int], second: tuple[str, int]) -> _TaskFiles:
    """Return the files of a task that has one file (path and published rows) for each of two classes."""
    return _TaskFiles(benchmark, _class_rows, (("all", *first), ("all", *second)))


def _sst_files(folder: str, train: int, dev: int, test: int) -> _TaskFiles:
    """Return the three files of SST in a folder, with their published numbers of rows."""
    sizes = {"train": train, "dev": dev, "test": test}
    files = ((split, f"{folder}/sentiment-{split}", rows) for split, rows in sizes.items())
    return _TaskFiles(f"SST ({folder})", _sst_rows, tuple(files))


def _sick_files(column: str) -> _TaskFiles:
    """Return the three files of SICK, read with `column` as the label or score."""
    files = (
        ("train", "SICK/SICK_train.txt", 4_500),
        ("dev", "SICK/SICK_trial.txt", 500),
        ("test", "SICK/SICK_test_annotated.txt", 4_927),
    )
    return _TaskFiles("SICK", _column_reader("sentence_A", "sentence_B", column), files)


_POLARITY = {"neg": "negative", "pos": "positive"}
_STARS = ("very negative", "negative", "neutral", "positive", "very positive")
_TREC = (("train", "TREC/train_5500.label", 5_452), ("test", "TREC/TREC_10.label", 500))
_MRPC = (("train", "MRPC/msr_paraphrase_train.txt", 4_076), ("test", "MRPC/msr_paraphrase_test.txt", 1_725))
_STSB = tuple(
    (split, f"STS/STSBenchmark/sts-{split}.csv", rows)
    for split, rows in {"train": 5_749, "dev": 1_500, "test": 1_379}.items()
)

#: Task → files, and label in the files → class.
_CLASSIFICATION: dict[str, tuple[_TaskFiles, dict[str, str]]] = {
    "mr": (_class_files("MR", ("MR/rt-polarity.neg", 5_331), ("MR/rt-polarity.pos", 5_331)), _POLARITY),
    "cr": (_class_files("CR", ("CR/custrev.neg", 1_368), ("CR/custrev.pos", 2_407)), _POLARITY),
    "subj": (
        _class_files("SUBJ", ("SUBJ/subj.subjective", 5_000), ("SUBJ/subj.objective", 5_000)),
        {kind: kind for kind in ("subjective", "objective")},
    ),
    "mpqa": (_class_files("MPQA", ("MPQA/mpqa.neg", 7_294), ("MPQA/mpqa.pos", 3_312)), _POLARITY),
    "sst2": (_sst_files("SST/binary", 67_349, 872, 1_821), {"0": "negative", "1": "positive"}),
    "sst5": (_sst_files("SST/fine", 8_544, 1_101, 2_210), {str(number): stars for number, stars in enumerate(_STARS)}),
    "trec": (
        _TaskFiles("TREC", _trec_rows, _TREC),
        {kind: kind for kind in ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")},
    ),
    "mrpc": (
        _TaskFiles("MRPC", _column_reader("#1 String", "#2 String", "Quality"), _MRPC),
        {"0": "different", "1": "paraphrase"},
    ),
    "sick_e": (
        _sick_files("entailment_judgment"),
        {judgment: judgment for judgment in ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")},
    ),
}
#: Task → files, lowest and highest score.
_RELATEDNESS: dict[str, tuple[_TaskFiles, float, float]] = {
    "sick_r": (_sick_files("relatedness_score"), 1.0, 5.0),
    "stsb": (_TaskFiles("STS-B", _stsb_rows, _STSB), LOW, HIGH),
}

#: Names of the tasks by kind.
CLASSIFICATION = tuple(_CLASSIFICATION)
RELATEDNESS = tuple(_RELATEDNESS)
SIMILARITY = (*YEARS, "stsb", "sick_r")
