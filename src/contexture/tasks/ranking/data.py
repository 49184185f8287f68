"""A set of questions with its candidates, as tables in a folder: made once of the raw files, then read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.folders import work_folder
from contexture.metrics.top import NOTHING
from contexture.tasks.ranking.config import RankingSet, Split
from contexture.tasks.ranking.files import READERS, Asked, Texts
from contexture.tasks.retrieval.reqa import stable_id

QUESTIONS, TEXTS, WORDS = "questions.parquet", "texts.parquet", "bm25"
#: One question in so many is dev where only train and test are given (Cross-Thought, section 4.1); of one file two in
#: so many are dev, two test.
PARTS = 20
#: Questions that BM25 answers at a time.
SEARCHED_AT_ONCE = 1000

Rows = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Questions:
    """The questions of a split that have a right candidate."""

    ids: list[str]
    texts: list[str]
    #: Rows of the candidates of each, and of its right ones, −1 for one whose text is not there.
    candidates: list[Rows]
    right: list[Rows]

    def __len__(self) -> int:
        return len(self.ids)


def write_set(given: RankingSet, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Write a set's questions, texts and BM25 over its texts to `folder`; what was counted, and what to know of it.

    Raises:
        BenchmarkMissing: a file is absent.
        ValueError: a file is not in the format, two questions have one id, or there is no text.
    """
    from contexture.metrics.bm25 import write_bm25  # training goes without

    texts = Texts()
    asked, notes = _split(list(_read(given, texts)), given.files)
    table = pd.DataFrame(
        [(one.split, one.question_id, one.question, list(one.candidates), list(one.right)) for one in asked],
        columns=["split", "question_id", "question", "candidates", "right"],
    )
    twice = table.duplicated("question_id")
    if twice.any():
        raise ValueError(f"question {table[twice]['question_id'].iloc[0]} is in the files twice: {given.files}")
    folder.mkdir(parents=True)
    try:
        with work_folder(folder / WORDS) as work:
            write_bm25(texts.rows, work)
    except ValueError as error:
        raise ValueError(f"{given.files}: {error}") from error
    counts: dict[str, Any] = {"texts": len(texts.rows)}
    if given.searched:
        found = list(_searched(table["question"].tolist(), folder / WORDS, given.searched))
        table["candidates"] = pd.Series(found, table.index, "object")
        notes.append(f"the candidates of a question are the first {given.searched:,} of all texts that BM25 finds")
    table.to_parquet(folder / QUESTIONS)
    pd.DataFrame({"title": texts.titles, "text": list(texts.rows)}).to_parquet(folder / TEXTS)
    for split in ("train", "dev", "test"):
        part = table[table["split"] == split]
        answered = part["right"].map(len) > 0
        lost = sum(len(set(gold) - set(found)) for gold, found in zip(part["right"], part["candidates"], strict=True))
        counts[f"{split} questions"] = int(answered.sum())
        others = {
            f"{split} questions without a right candidate, left out": int((~answered).sum()),
            f"right candidates of {split} questions that are not among theirs": lost,
        }
        counts |= {name: count for name, count in others.items() if count}
    return counts, notes


def read_split(folder: Path, split: Split) -> Questions:
    """The questions of a split that have a right candidate."""
    table = pd.read_parquet(folder / QUESTIONS, filters=[("split", "==", split)])
    table = table[table["right"].map(len) > 0]
    return Questions(*(table[name].tolist() for name in ("question_id", "question", "candidates", "right")))


def trainable(questions: Questions) -> Rows:
    """Numbers of the questions that can be learned from: a right candidate has a text, and there is a wrong one."""
    return np.array(
        [
            number
            for number, (right, candidates) in enumerate(zip(questions.right, questions.candidates, strict=True))
            if (right >= 0).any() and not np.isin(candidates, right).all()
        ],
        np.int64,
    )


def read_texts(folder: Path) -> list[str]:
    """All texts of a set, by row."""
    found: list[str] = pd.read_parquet(folder / TEXTS, columns=["text"])["text"].tolist()
    return found


def check_set(data: Path) -> None:
    """Raise ValueError where a set has no question to train on, or none to choose the best weights by."""
    splits: tuple[Split, ...] = ("train", "dev")
    for split in splits:
        if not len(trainable(read_split(data, split))):
            raise ValueError(
                f"{data.name} has no {split} question with a right and a wrong candidate: leave it out of ranking's "
                "finetune, or give more questions"
            )


def documents(folder: Path) -> pd.DataFrame:
    """Title and text of what is a candidate of dev or test questions."""
    table = pd.read_parquet(folder / QUESTIONS, columns=["split", "candidates", "right"])
    held_out = table[table["split"] != "train"]
    rows = np.concatenate([np.empty(0, np.int64), *held_out["candidates"], *held_out["right"]])
    texts = pd.read_parquet(folder / TEXTS)
    return texts[texts.index.isin(rows)]


def _read(given: RankingSet, texts: Texts) -> Iterator[Asked]:
    files = given.files if isinstance(given.files, dict) else {None: given.files}
    for split, path in files.items():
        yield from READERS[given.format](Path(path), split, texts)


def _split(asked: list[Asked], files: str | dict[Split, str]) -> tuple[list[Asked], list[str]]:
    """The questions, each with a split, and how they came to it where the files do not say."""
    if any(one.split is None for one in asked):
        said = "questions are split by a hash of their ids: 80 % train, 10 % dev, 10 % test"
        return [_moved(one, {0: "dev", 1: "dev", 2: "test", 3: "test"}, "train") for one in asked], [said]
    if isinstance(files, dict) and "train" in files and "dev" not in files:
        moved = [_moved(one, {0: "dev"}, "train") if one.split == "train" else one for one in asked]
        return moved, ["5 % of the training questions, by a hash of their ids, are dev"]
    return asked, []


def _moved(one: Asked, splits: dict[int, Split], otherwise: Split) -> Asked:
    part = int(stable_id(one.question_id), 16) % PARTS
    return Asked(splits.get(part, otherwise), one.question_id, one.question, one.candidates, one.right)


def _searched(questions: list[str], index: Path, pool: int) -> Iterator[npt.NDArray[np.int32]]:
    """The rows that BM25 finds for each question."""
    from contexture.metrics.bm25 import Bm25

    words = Bm25(index)
    for start in range(0, len(questions), SEARCHED_AT_ONCE):
        _, found = words.search(questions[start : start + SEARCHED_AT_ONCE], pool)
        yield from (rows[rows != NOTHING].astype(np.int32) for rows in found)
