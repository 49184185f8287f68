"""Sets of questions with candidates, stored as tables in a folder.

Candidates come from the files, from BM25 over all texts of the set, or are drawn at random.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.encoders.layout import Ints
from contexture.folders import work_folder
from contexture.retrieval.top import NO_ROW
from contexture.tasks.ranking.config import Pools, Protocol, RankingSet, Split
from contexture.tasks.ranking.files import READERS, CandidateTexts, RankingQuestion
from contexture.tasks.retrieval.reqa import stable_id

QUESTIONS_FILE, TEXTS_FILE, BM25_DIR = "questions.parquet", "texts.parquet", "bm25"
#: Number of candidates by protocol; written only if the protocols rank different numbers.
POOLS_FILE = "pools.json"
#: Parts of the hash split. One part of train becomes dev if the files have no dev split (Cross-Thought, section 4.1); a
#: single file has two parts for dev and two for test.
NUM_PARTS = 20
#: Questions per BM25 search.
SEARCH_BATCH = 1000
PROTOCOLS: dict[Protocol, str] = {"frozen": "frozen", "finetuned": "fine-tuned"}

Rows = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Questions:
    """Questions of a split that have a right candidate."""

    ids: list[str]
    texts: list[str]
    #: Rows of each question's candidates and right candidates; −1: the text is missing.
    candidates: list[Rows]
    right: list[Rows]

    def __len__(self) -> int:
        return len(self.ids)


def write_set(source: RankingSet, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Write a set's questions, texts and BM25 index to `folder`; return counts, and notes for reports.

    Raises:
        BenchmarkMissing: a file is absent.
        ValueError: wrong format, duplicate question id, no text, or a pool of random candidates that does not fit.
    """
    from contexture.retrieval.bm25 import write_bm25  # not needed in training

    table, texts, notes = _read_tables(source)
    pools, is_random = source.pools, source.candidates == "random"
    folder.mkdir(parents=True)
    try:
        if pools and is_random:
            check_random_pool(table["right"].tolist(), len(texts.rows), pools)
        with work_folder(folder / BM25_DIR) as work:
            write_bm25(texts.rows, work)
    except ValueError as error:
        raise ValueError(f"{source.files}: {error}") from error
    if pools:
        if is_random:
            rows = draw_candidates(table["question_id"].tolist(), table["right"].tolist(), list(texts.rows), pools)
        else:
            rows = search_candidates(table["question"].tolist(), folder / BM25_DIR, pools.largest)
        table["candidates"] = pd.Series(list(rows), table.index, "object")
        notes.append(_describe_pools(pools, is_random))
        if pools.are_different:
            (folder / POOLS_FILE).write_text(json.dumps(asdict(pools)), encoding="utf-8")
    table.to_parquet(folder / QUESTIONS_FILE)
    pd.DataFrame({"title": texts.titles, "text": list(texts.rows)}).to_parquet(folder / TEXTS_FILE)
    counts: dict[str, Any] = {"texts": len(texts.rows)}
    for split in ("train", "dev", "test"):
        counts |= _count_questions(table[table["split"] == split], split, pools)
    return counts, notes


def _read_tables(source: RankingSet) -> tuple[pd.DataFrame, CandidateTexts, list[str]]:
    """Return the table of all questions with splits, the texts, and notes on splits that the files do not name."""
    texts, files = CandidateTexts(), source.files if isinstance(source.files, dict) else {None: source.files}
    rows = [row for split, path in files.items() for row in READERS[source.format](Path(path), split, texts)]
    table = pd.DataFrame(
        [(*row[:3], list(row.candidates), list(row.right)) for row in rows], columns=RankingQuestion._fields
    )
    is_repeated = table.duplicated("question_id")
    if is_repeated.any():
        question_id = table[is_repeated]["question_id"].iloc[0]
        raise ValueError(f"question {question_id} occurs twice in {source.files}; remove one")
    parts = table["question_id"].map(lambda name: int(stable_id(name), 16) % NUM_PARTS)
    if table["split"].isna().any():
        table["split"] = parts.map({0: "dev", 1: "dev", 2: "test", 3: "test"}).fillna("train")
        return table, texts, ["questions are split by a hash of their ids: 80 % train, 10 % dev, 10 % test"]
    if "train" in files and "dev" not in files:
        table.loc[(table["split"] == "train") & (parts == 0), "split"] = "dev"
        return table, texts, ["5 % of the training questions, by a hash of their ids, are dev"]
    return table, texts, []


def search_candidates(questions: Sequence[str], index: Path, pool: int) -> Iterator[Rows]:
    """Yield the rows of BM25's first `pool` texts for each question; `index` is BM25's folder."""
    from contexture.retrieval.bm25 import Bm25  # not needed in training

    bm25 = Bm25(index)
    for start in range(0, len(questions), SEARCH_BATCH):
        _, matches = bm25.search(list(questions[start : start + SEARCH_BATCH]), pool)
        yield from (rows[rows != NO_ROW].astype(np.int32) for rows in matches)


def check_random_pool(right: Sequence[Sequence[int]], num_texts: int, pools: Pools) -> None:
    """Raise ValueError unless pools hold all right texts of a question and are no larger than the set.

    `right`: rows of the right texts of each question; negative rows have no text.
    """
    if num_texts < pools.largest:
        raise ValueError(
            f"pool: {pools.largest:,} random candidates are more than the {num_texts:,} texts of the set; "
            f"set pool to {num_texts} or less"
        )
    needed = max((len({row for row in rows if row >= 0}) for rows in right), default=0)
    if needed > pools.smallest:
        raise ValueError(
            f"pool: a question has {needed} right texts, more than its {pools.smallest} candidates; "
            f"set pool to {needed} or more"
        )


def draw_candidates(
    question_ids: Sequence[str], right: Sequence[Sequence[int]], texts: Sequence[str], pools: Pools
) -> Iterator[Rows]:
    """Yield the rows of each question's right texts and of random others, `pools.largest` in total.

    The draw depends only on the question's id and on the set of texts. Each pool is a prefix of the rows and holds all
    right texts. Within a prefix, rows are in the order of their texts, which does not reveal the right one.

    Args:
        question_ids: of all questions.
        right: rows of the right texts of each question; negative rows have no text.
        texts: all texts of the set, by row.
        pools: number of candidates by protocol; see `check_random_pool`.
    """
    by_text = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int32)
    position = np.empty_like(by_text)
    position[by_text] = np.arange(len(texts))
    for question_id, right_rows in zip(question_ids, right, strict=True):
        rng = np.random.default_rng(int(stable_id(f"candidates/{question_id}"), 16))
        drawn = by_text[rng.choice(len(texts), pools.largest, replace=False)]
        known = np.array(sorted({row for row in right_rows if row >= 0}), np.int32)
        wrong = drawn[~np.isin(drawn, known)]
        first, end = pools.smallest - len(known), pools.largest - len(known)
        parts = (np.concatenate([known, wrong[:first]]), wrong[first:end])
        yield np.concatenate([rows[np.argsort(position[rows])] for rows in parts])


def _describe_pools(pools: Pools, is_random: bool) -> str:
    """Return a sentence for the report about the candidates that each protocol ranks."""
    training = "from which their training draws wrong candidates"
    if is_random:
        sizes = f"{pools.largest:,} in total"
        if pools.are_different:
            sizes = f"{pools.frozen:,} in total for frozen encoders, {pools.finetuned:,} for fine-tuned encoders"
        note = "the candidates of a question are its right texts and others drawn at random from all texts"
        return f"{note}: {sizes}, {training}" if pools.are_different else f"{note}, {sizes}"
    if not pools.are_different:
        return f"the candidates of a question are the first {pools.largest:,} of all texts that BM25 finds"
    return (
        f"frozen encoders rank the first {pools.frozen:,} of all texts that BM25 finds, "
        f"fine-tuned encoders the first {pools.finetuned:,}, {training}"
    )


def _count_questions(table: pd.DataFrame, split: str, pools: Pools | None) -> dict[str, int]:
    """Return description → count: a split's questions, those left out, and right texts that are no candidates."""
    answered = table["right"].map(len) > 0
    missing = {f"{split} questions without a right candidate, left out": int((~answered).sum())}
    name = f"right candidates of {split} questions that are not among theirs"
    if pools is None or not pools.are_different:
        missing[name] = _count_lost(table, None)
    else:
        missing |= {f"{name}, {title}": _count_lost(table, pools.size(key)) for key, title in PROTOCOLS.items()}
    return {f"{split} questions": int(answered.sum())} | {key: count for key, count in missing.items() if count}


def _count_lost(table: pd.DataFrame, pool: int | None) -> int:
    """Return the number of right texts that are not among the first `pool` candidates of their question."""
    pairs = zip(table["right"], table["candidates"], strict=True)
    return sum(len(set(right) - set(candidates[:pool])) for right, candidates in pairs)


def read_split(folder: Path, split: Split, protocol: Protocol | None = None) -> Questions:
    """Return the questions of a split that have a right text, with their candidates.

    Args:
        folder: written by `write_set`.
        split: train, dev or test.
        protocol: limits candidates to those that this protocol ranks; None: all stored candidates.
    """
    table = pd.read_parquet(folder / QUESTIONS_FILE, filters=[("split", "==", split)])
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


def trainable_questions(questions: Questions) -> Ints:
    """Return the numbers of questions usable for training: with a wrong candidate and a right one that has a text."""
    pairs = zip(questions.right, questions.candidates, strict=True)
    usable = [(right >= 0).any() and not np.isin(candidates, right).all() for right, candidates in pairs]
    return np.flatnonzero(np.array(usable, np.bool_))


def read_texts(folder: Path) -> list[str]:
    """Return all candidate texts of a set, by row."""
    texts: list[str] = pd.read_parquet(folder / TEXTS_FILE, columns=["text"])["text"].tolist()
    return texts


def check_trainable(data: Path) -> None:
    """Raise ValueError if train or dev of a set has no question of `trainable_questions`."""
    splits: tuple[Split, ...] = ("train", "dev")
    for split in splits:
        if not len(trainable_questions(read_split(data, split, "finetuned"))):
            raise ValueError(
                f"{data.name} has no {split} question with a right and a wrong candidate: remove it from "
                "ranking.finetune, or add questions"
            )


def candidate_documents(folder: Path) -> pd.DataFrame:
    """Return title and text of all candidates and right texts of dev and test questions."""
    table = pd.read_parquet(folder / QUESTIONS_FILE, columns=["split", "candidates", "right"])
    held_out = table[table["split"] != "train"]
    rows = np.concatenate([np.empty(0, np.int64), *held_out["candidates"], *held_out["right"]])
    texts = pd.read_parquet(folder / TEXTS_FILE)
    return texts[texts.index.isin(rows)]
