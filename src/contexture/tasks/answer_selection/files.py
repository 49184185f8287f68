"""Answer selection in the format of WikiQA (Yang, Yih and Meek, 2015): a question, candidate sentences, labels 0/1."""

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO, cast

import pandas as pd

from contexture.tasks.missing import BenchmarkMissing

SPLITS = ("train", "dev", "test")

#: Columns of the files, and what they are called in a table of answers.
_COLUMNS = {
    "QuestionID": "question_id",
    "Question": "question",
    "SentenceID": "candidate_id",
    "Sentence": "candidate",
    "Label": "label",
    "DocumentTitle": "title",
}
_REMEDY = (
    "Download the WikiQA corpus from Microsoft (https://www.microsoft.com/download/details.aspx?id=52419), "
    "unpack it and name the folder that holds WikiQA-train.tsv, WikiQA-dev.tsv and WikiQA-test.tsv "
    "(or the same gzipped), or files of your own in that format."
)


def read_wikiqa(source: Path | Mapping[str, Path]) -> pd.DataFrame:
    """Read train, dev and test: a folder with `WikiQA-<split>.tsv` or `.tsv.gz`, or the files by split.

    Returns:
        One row a candidate, in file order: split, question_id, question, candidate_id, candidate, label (0 or 1),
        title, position (0.. within the question).

    Raises:
        BenchmarkMissing: the folder or one of the files is absent.
        ValueError: a file is not in the format; the text names file, line and remedy.
    """
    files = source if isinstance(source, Mapping) else {split: _find(source, split) for split in SPLITS}
    return pd.concat([_read(path).assign(split=split)[_ORDER] for split, path in files.items()], ignore_index=True)


def clean(answers: pd.DataFrame) -> pd.DataFrame:
    """Drop the dev and test questions whose candidates are all wrong or all right; train stays as it is.

    That is the "clean" setting of the MSPP paper and its code: WikiQA keeps 2,118, 122 and 237 questions with
    20,360, 1,126 and 2,341 candidates.
    """
    labels = answers.groupby(["split", "question_id"])["label"]
    mixed = labels.transform("min").eq(0) & labels.transform("max").eq(1)
    return answers[answers["split"].eq("train") | mixed].reset_index(drop=True)


_ORDER = ["split", "question_id", "question", "candidate_id", "candidate", "label", "title", "position"]


def _find(folder: Path, split: str) -> Path:
    plain = folder / f"WikiQA-{split}.tsv"
    for path in (plain, plain.with_suffix(".tsv.gz")):
        if path.is_file():
            return path
    raise BenchmarkMissing("WikiQA", plain, _REMEDY)


def _read(path: Path) -> pd.DataFrame:
    try:
        with _open(path) as file:
            table = pd.DataFrame(_rows(path, file), columns=list(_COLUMNS.values()))
    except FileNotFoundError as error:
        raise BenchmarkMissing("WikiQA", path, _REMEDY) from error
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is damaged ({error}); fetch it again, as UTF-8 text or gzip") from error
    table["label"] = table["label"].astype("int64")
    table["position"] = table.groupby("question_id").cumcount()
    twice = table.duplicated(["question_id", "candidate_id"])
    if twice.any():
        row = table[twice].iloc[0]
        raise ValueError(
            f"{path}: question {row['question_id']} has two candidates {row['candidate_id']}; "
            "give every candidate of a question a SentenceID of its own"
        )
    return table


def _open(path: Path) -> TextIO:
    # Only \n ends a line: sentences hold other characters that Python would take for line ends.
    opened = gzip.open if path.suffix == ".gz" else open
    return cast(TextIO, opened(path, "rt", encoding="utf-8-sig", newline="\n"))


def _rows(path: Path, file: TextIO) -> Iterator[list[str]]:
    lines = (line.removesuffix("\n").removesuffix("\r") for line in file)
    header = next(lines, "").split("\t")
    missing = [column for column in _COLUMNS if column not in header]
    if missing:
        raise ValueError(
            f"{path}, line 1: no column {', '.join(missing)}; the first line must name the tab-separated columns "
            "QuestionID Question DocumentID DocumentTitle SentenceID Sentence Label"
        )
    wanted = [header.index(column) for column in _COLUMNS]
    label = header.index("Label")
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        fields = line.split("\t")
        if len(fields) != len(header):
            raise ValueError(
                f"{path}, line {number}: {len(fields)} fields where the header has {len(header)}; "
                "remove tabs and line breaks inside the fields"
            )
        if fields[label] not in ("0", "1"):
            raise ValueError(f"{path}, line {number}: Label is {fields[label]!r}; it must be 0 or 1")
        yield [fields[i] for i in wanted]
