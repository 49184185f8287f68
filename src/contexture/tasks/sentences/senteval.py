"""The tasks of SentEval (Conneau and Kiela, 2018) from files in the layout of its `data/downstream`.

Sentences are as published: SentEval's scripts split some of them into tokens, which is left to the encoder here.
Labels have SentEval's order. A file must have the published number of rows unless `counts` is "any".
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from contexture.tasks.sentences.files import Counts, find, known, label, read_columns, read_lines
from contexture.tasks.sentences.sick import read_sick_e, read_sick_r, sick_similarity
from contexture.tasks.sentences.sts import YEARS, read_stsb, read_year, stsb_similarity
from contexture.tasks.sentences.tables import ClassificationTask, RelatednessTask, SimilarityTask

#: A row of classification: split, texts (one or two), label.
_Row = tuple[str, tuple[str, ...], int]

#: Two files by task, SentEval's label 0 first: name of the class, path, published rows.
_TWO_FILES: dict[str, tuple[tuple[str, str, int], tuple[str, str, int]]] = {
    "mr": (("negative", "MR/rt-polarity.neg", 5_331), ("positive", "MR/rt-polarity.pos", 5_331)),
    "cr": (("negative", "CR/custrev.neg", 1_368), ("positive", "CR/custrev.pos", 2_407)),
    "subj": (("subjective", "SUBJ/subj.subjective", 5_000), ("objective", "SUBJ/subj.objective", 5_000)),
    "mpqa": (("negative", "MPQA/mpqa.neg", 7_294), ("positive", "MPQA/mpqa.pos", 3_312)),
}
#: Folder, published rows by split, and classes by label.
_SST = {
    "sst2": ("SST/binary", {"train": 67_349, "dev": 872, "test": 1_821}, ("negative", "positive")),
    "sst5": (
        "SST/fine",
        {"train": 8_544, "dev": 1_101, "test": 2_210},
        ("very negative", "negative", "neutral", "positive", "very positive"),
    ),
}
_TREC = {"train": ("TREC/train_5500.label", 5_452), "test": ("TREC/TREC_10.label", 500)}
_TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_MRPC = {"train": ("MRPC/msr_paraphrase_train.txt", 4_076), "test": ("MRPC/msr_paraphrase_test.txt", 1_725)}


def read_classification(folder: Path, name: str, counts: Counts = "published") -> ClassificationTask:
    """A task of `CLASSIFICATION`. MR, CR, SUBJ and MPQA have one split, `all`; TREC and MRPC have no `dev`.

    Lines with an empty sentence are left out and counted in `dropped` (the published CR has four). The tables of MR,
    CR, SUBJ and MPQA hold the rows of label 0 before those of label 1: whoever makes folds must shuffle or stratify.

    Args:
        folder: what SentEval calls `data/downstream`.
        name: of the task.
        counts: whether the files must have the published numbers of rows.

    Raises:
        BenchmarkMissing: a file of the task is absent.
        ValueError: no such task; a file is not in the format, has a label that was not published or a wrong number of
            rows. The text names file, line and remedy.
    """
    known(name, CLASSIFICATION, "classification")
    return _CLASSIFICATION[name](folder, name, counts)


def read_relatedness(folder: Path, name: str, counts: Counts = "published") -> RelatednessTask:
    """A task of `RELATEDNESS`: SICK-R with scores from 1 to 5, or STS-B from 0 to 5.

    Arguments and errors are those of `read_classification`; a score outside its range, or an empty sentence beside a
    score, is a ValueError as well.
    """
    known(name, RELATEDNESS, "relatedness")
    return _RELATEDNESS[name](folder, counts)


def read_similarity(folder: Path, name: str, counts: Counts = "published") -> SimilarityTask:
    """A task of `SIMILARITY`: a year of STS with all its subsets, or the test split of STS-B or SICK-R.

    Arguments and errors are those of `read_relatedness`. STS13 is without SMT, whose sentences need a licence.
    """
    known(name, SIMILARITY, "similarity")
    return _SIMILARITY[name](folder, counts) if name in _SIMILARITY else read_year(folder, name, counts)


def _two_files(folder: Path, name: str, counts: Counts) -> ClassificationTask:
    rows: list[_Row] = []
    for place, (_, relative, published) in enumerate(_TWO_FILES[name]):
        path = find(name.upper(), folder, relative)
        rows += [("all", (line,), place) for line in read_lines(path, _expected(published, counts))]
    return _task(name, tuple(kind for kind, *_ in _TWO_FILES[name]), rows)


def _sst(folder: Path, name: str, counts: Counts) -> ClassificationTask:
    inside, published, classes = _SST[name]
    labels = [str(i) for i in range(len(classes))]
    rows: list[_Row] = []
    for split, expected in published.items():
        path = find(f"SST ({inside})", folder, f"{inside}/sentiment-{split}")
        for number, line in enumerate(read_lines(path, _expected(expected, counts)), start=1):
            fields = line.split("\t")
            if len(fields) != 2:
                raise ValueError(
                    f"{path}, line {number}: {len(fields)} fields; a line must be a sentence, a tab, a label"
                )
            rows.append((split, (fields[0],), label(path, number, fields[1].strip(), labels)))
    return _task(name, classes, rows)


def _trec(folder: Path, name: str, counts: Counts) -> ClassificationTask:
    rows: list[_Row] = []
    for split, (relative, published) in _TREC.items():
        path = find("TREC", folder, relative)
        for number, line in enumerate(read_lines(path, _expected(published, counts)), start=1):
            kinds, _, question = line.partition(" ")
            coarse, colon, _ = kinds.partition(":")
            if not colon:
                raise ValueError(f"{path}, line {number}: no `COARSE:fine ` before the question")
            rows.append((split, (question,), label(path, number, coarse, _TREC_CLASSES)))
    return _task(name, _TREC_CLASSES, rows)


def _mrpc(folder: Path, name: str, counts: Counts) -> ClassificationTask:
    rows: list[_Row] = []
    for split, (relative, published) in _MRPC.items():
        path = find("MRPC", folder, relative)
        columns = read_columns(path, ("Quality", "#1 String", "#2 String"), _expected(published, counts))
        for number, (quality, *texts) in enumerate(columns, start=2):
            rows.append((split, tuple(texts), label(path, number, quality, ("0", "1"))))
    return _task(name, ("different", "paraphrase"), rows)


def _sick_e(folder: Path, name: str, counts: Counts) -> ClassificationTask:
    classes, rows = read_sick_e(folder, counts)
    return _task(name, classes, rows)


def _expected(published: int, counts: Counts) -> int | None:
    return published if counts == "published" else None


def _task(name: str, classes: tuple[str, ...], rows: list[_Row]) -> ClassificationTask:
    """A task of the rows whose sentences are all there."""
    stripped = [(split, [text.strip() for text in texts], place) for split, texts, place in rows]
    kept = [(split, *texts, place) for split, texts, place in stripped if all(texts)]
    texts = ["text", "text2"][: len(rows[0][1])]
    table = pd.DataFrame(kept, columns=["split", *texts, "label"]).astype({"label": "int64"})
    return ClassificationTask(name, classes, table, dropped=len(rows) - len(kept))


_CLASSIFICATION: dict[str, Callable[[Path, str, Counts], ClassificationTask]] = {
    **dict.fromkeys(_TWO_FILES, _two_files),
    **dict.fromkeys(_SST, _sst),
    "trec": _trec,
    "mrpc": _mrpc,
    "sick_e": _sick_e,
}
_RELATEDNESS: dict[str, Callable[[Path, Counts], RelatednessTask]] = {"sick_r": read_sick_r, "stsb": read_stsb}
_SIMILARITY: dict[str, Callable[[Path, Counts], SimilarityTask]] = {"stsb": stsb_similarity, "sick_r": sick_similarity}

#: The tasks that can be read.
CLASSIFICATION = tuple(_CLASSIFICATION)
RELATEDNESS = tuple(_RELATEDNESS)
SIMILARITY = (*YEARS, *_SIMILARITY)
