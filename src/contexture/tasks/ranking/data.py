"""A set of questions with its candidates, as tables in a folder: made once of the raw files, then read."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contexture.encoders.layout import Ints
from contexture.folders import work_folder
from contexture.tasks.ranking.candidates import Rows, check_random_pool, draw_candidates, search_candidates
from contexture.tasks.ranking.config import Pools, Protocol, RankingSet, Split
from contexture.tasks.ranking.files import READERS, Asked, Texts
from contexture.tasks.retrieval.reqa import stable_id

QUESTIONS, TEXTS, WORDS = "questions.parquet", "texts.parquet", "bm25"
#: Number of candidates by protocol; written only if the protocols rank different numbers.
POOLS_FILE = "pools.json"
#: One question in so many is dev where only train and test are given (Cross-Thought, section 4.1); of one file two in
#: so many are dev, two test.
PARTS = 20
PROTOCOLS: dict[Protocol, str] = {"frozen": "frozen", "finetuned": "fine-tuned"}


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
        ValueError: a file is not in the format, two questions have one id, there is no text, or a pool of random
            candidates does not fit.
    """
    from contexture.retrieval.bm25 import write_bm25  # training goes without

    texts = Texts()
    asked, notes = _split(list(_read(given, texts)), given.files)
    table = pd.DataFrame(
        [(one.split, one.question_id, one.question, list(one.candidates), list(one.right)) for one in asked],
        columns=["split", "question_id", "question", "candidates", "right"],
    )
    twice = table.duplicated("question_id")
    if twice.any():
        raise ValueError(f"question {table[twice]['question_id'].iloc[0]} is in the files twice: {given.files}")
    pools, drawn = given.pools, given.candidates == "random"
    folder.mkdir(parents=True)
    try:
        if pools and drawn:
            check_random_pool(table["right"].tolist(), len(texts.rows), pools)
        with work_folder(folder / WORDS) as work:
            write_bm25(texts.rows, work)
    except ValueError as error:
        raise ValueError(f"{given.files}: {error}") from error
    if pools:
        if drawn:
            rows = draw_candidates(table["question_id"].tolist(), table["right"].tolist(), list(texts.rows), pools)
        else:
            rows = search_candidates(table["question"].tolist(), folder / WORDS, pools.largest)
        table["candidates"] = pd.Series(list(rows), table.index, "object")
        notes += _describe_pools(pools, drawn)
        if pools.differ:
            (folder / POOLS_FILE).write_text(json.dumps(asdict(pools)), encoding="utf-8")
    table.to_parquet(folder / QUESTIONS)
    pd.DataFrame({"title": texts.titles, "text": list(texts.rows)}).to_parquet(folder / TEXTS)
    counts: dict[str, Any] = {"texts": len(texts.rows)}
    for split in ("train", "dev", "test"):
        counts |= _count_questions(table[table["split"] == split], split, pools)
    return counts, notes


def _describe_pools(pools: Pools, drawn: bool) -> list[str]:
    """Notes on which candidates each protocol ranks; `drawn`: at random."""
    if drawn:
        what = "its right texts and others drawn at random from all texts"
        if not pools.differ:
            return [f"the candidates of a question are {what}, {pools.largest:,} in total"]
        sizes = f"{pools.frozen:,} in total for frozen encoders, {pools.finetuned:,} for fine-tuned encoders"
        return [f"the candidates of a question are {what}: {sizes}, from which their training draws wrong candidates"]
    if not pools.differ:
        return [f"the candidates of a question are the first {pools.largest:,} of all texts that BM25 finds"]
    return [
        f"frozen encoders rank the first {pools.frozen:,} of all texts that BM25 finds, "
        f"fine-tuned encoders the first {pools.finetuned:,}, from which their training draws wrong candidates"
    ]


def _count_questions(table: pd.DataFrame, split: str, pools: Pools | None) -> dict[str, int]:
    """Number of questions of a split, and of what is missing, if any is."""
    answered = table["right"].map(len) > 0
    missing = {f"{split} questions without a right candidate, left out": int((~answered).sum())}
    name = f"right candidates of {split} questions that are not among theirs"
    if pools is None or not pools.differ:
        missing[name] = _count_lost(table, None)
    else:
        for protocol, title in PROTOCOLS.items():
            missing[f"{name}, {title}"] = _count_lost(table, pools.size(protocol))
    return {f"{split} questions": int(answered.sum())} | {key: count for key, count in missing.items() if count}


def _count_lost(table: pd.DataFrame, pool: int | None) -> int:
    """Number of right candidates that are not among the first `pool` candidates of their questions."""
    pairs = zip(table["right"], table["candidates"], strict=True)
    return sum(len(set(right) - set(candidates[:pool])) for right, candidates in pairs)


def read_split(folder: Path, split: Split, protocol: Protocol | None = None) -> Questions:
    """Return the questions of a split that have a right candidate.

    Args:
        folder: what `write_set` wrote.
        split: train, dev or test.
        protocol: each question has the candidates that this protocol ranks; None: all that are stored.
    """
    table = pd.read_parquet(folder / QUESTIONS, filters=[("split", "==", split)])
    table = table[table["right"].map(len) > 0]
    pools = read_pools(folder)
    if pools is not None and protocol is not None:
        pool = pools.size(protocol)
        table["candidates"] = table["candidates"].map(lambda rows: rows[:pool])
    return Questions(*(table[name].tolist() for name in ("question_id", "question", "candidates", "right")))


def read_pools(folder: Path) -> Pools | None:
    """Return the number of candidates by protocol; None if all protocols rank the same candidates."""
    file = folder / POOLS_FILE
    return Pools(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def trainable(questions: Questions) -> Ints:
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
        if not len(trainable(read_split(data, split, "finetuned"))):
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
