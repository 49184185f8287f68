"""Every contestant on the questions: frozen, fine-tuned on shares of them, in the open domain; and BM25 beside them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.metrics.bm25 import Bm25
from contexture.metrics.scores import RUN, to_records
from contexture.metrics.search_index import compare_indexes, search_exact
from contexture.metrics.vectors import Vectors
from contexture.reporting.records import RECALL_AT
from contexture.tasks.base import Contestant, Each, Results, one_by_one
from contexture.tasks.retrieval.candidates import Retriever
from contexture.tasks.retrieval.config import RetrievalSettings, option_name, share_name
from contexture.tasks.retrieval.ranks import METRICS, question_ranks, recalls
from contexture.tasks.retrieval.reqa import split_questions

NAME = "retrieval"
FROZEN = "frozen"
#: The columns of the table of ranks.
COLUMNS = [*RUN, "question_id", "rank", "sentence_rank"]


@dataclass(frozen=True)
class Pool:
    """Candidates among which answers are looked for."""

    candidates: pd.DataFrame
    #: Where their vectors lie, a folder a model.
    folder: Path
    #: Whether they are joined by pairs of the corpus.
    is_open: bool = False

    @property
    def depth(self) -> int:
        """So many are found for each question."""
        return min(max(RECALL_AT), len(self.candidates))


@dataclass(frozen=True)
class Measured:
    """One model of a contestant."""

    contestant: Contestant
    encoders: tuple[str, ...]
    #: Percent of the questions that it was fine-tuned on; None: frozen.
    share: float | None = None

    @property
    def place(self) -> Path:
        """Where its vectors lie in the folder of a pool."""
        option = FROZEN if self.share is None else option_name(self.share)
        return Path(self.contestant.variant, option, f"seed-{self.contestant.seed}")


def evaluate_retrieval(
    settings: RetrievalSettings,
    contestants: Sequence[Contestant],
    questions: pd.DataFrame,
    pools: Sequence[Pool],
    data: str,
    each: Each = one_by_one,
) -> Results:
    """Recalls of all contestants and of BM25, which has their seeds, in all pools, the first of which is closed.

    The table `ranks` has where each question's answer was found. The fact `indexes` compares approximate indexes with
    exact search, and `speeds` tells how fast BM25 searched.
    """
    if not contestants:
        return Results()
    indexed = _indexed(settings, contestants)
    models = [one for contestant in contestants for one in models_of(contestant, settings)]
    measured = each(_measure, [(one, settings, questions, pools, one == indexed) for one in models])
    tables = [table for found, _ in measured for table in found]
    indexes = [row for _, found in measured for row in found]
    shares = settings.shares if any(one.finetuned for one in contestants) else []
    seeds = sorted({one.seed for one in contestants})
    speeds: list[dict[str, Any]] = []
    for pool in pools:
        found, seconds = _bm25(questions, pool, settings)
        tables += [
            _run(found[unseen(questions, share, seed)], "bm25", seed, share, pool)
            for share in (None, *shares)
            for seed in seeds
        ]
        if not pool.is_open:
            speeds.append({"what": "BM25 search", "unit": "queries", "per_second": len(questions) / seconds})
    table = pd.concat(tables, ignore_index=True)[COLUMNS]
    records = to_records(pd.concat([table[RUN], recalls(table)], axis=1), METRICS, NAME, data)
    return Results(records, {"indexes": indexes, "speeds": speeds}, {"ranks": table})


def _measure(
    measured: Measured, settings: RetrievalSettings, questions: pd.DataFrame, pools: Sequence[Pool], indexed: bool
) -> tuple[list[pd.DataFrame], list[dict[str, Any]]]:
    """The ranks of one model in every pool that it is measured in; approximate indexes of its vectors if `indexed`."""
    one, tables, indexes = measured.contestant, [], list[dict[str, Any]]()
    retriever = Retriever(measured.encoders)
    tested = questions[unseen(questions, measured.share, one.seed)]
    queries = retriever.questions(tested)
    for pool in pools:
        if pool.is_open and one.variant not in settings.open_domain:
            continue
        vectors = retriever.candidates(pool.candidates, pool.folder / measured.place)
        ranks = question_ranks(tested, pool.candidates, search_exact(vectors, queries, pool.depth)[1])
        tables.append(_run(ranks, one.variant, one.seed, measured.share, pool))
        if indexed and not pool.is_open:
            indexes = _compare(vectors, retriever.questions(questions), pool.depth, settings)
    return tables, indexes


def models_of(contestant: Contestant, settings: RetrievalSettings) -> Iterator[Measured]:
    """The frozen encoders, and what was fine-tuned of them."""
    yield Measured(contestant, contestant.encoders)
    if contestant.finetuned is not None:
        for share in settings.shares:
            yield Measured(contestant, (str(contestant.finetuned / option_name(share)),), share)


def unseen(questions: pd.DataFrame, share: float | None, seed: int) -> npt.NDArray[np.bool_]:
    """Whether each question is one that is neither trained on nor held out; frozen encoders are tested on all."""
    if share is None:
        return np.ones(len(questions), np.bool_)
    tested: npt.NDArray[np.bool_] = (
        split_questions(questions["question_id"].tolist(), share / 100, seed).eq("test").to_numpy()
    )
    return tested


def _indexed(settings: RetrievalSettings, contestants: Sequence[Contestant]) -> Measured | None:
    """The model whose vectors are compared: of the first seed, fine-tuned on most."""
    named = [one for one in contestants if one.variant == settings.indexed and settings.indexes]
    if not named:
        return None
    models = models_of(min(named, key=lambda one: one.seed), settings)
    return max(models, key=lambda one: one.share or 0.0)


def _run(ranks: pd.DataFrame, variant: str, seed: int, share: float | None, pool: Pool) -> pd.DataFrame:
    protocol = FROZEN if share is None else share_name(share)
    return ranks.assign(
        variant=variant, seed=seed, split="test", protocol=f"{protocol} open" if pool.is_open else protocol
    )


def _bm25(questions: pd.DataFrame, pool: Pool, settings: RetrievalSettings) -> tuple[pd.DataFrame, float]:
    """BM25's ranks of all questions, and the seconds that it searched."""
    texts = pool.candidates["sentence"] + " " + pool.candidates["passage"]
    index = Bm25(texts.tolist(), settings.bm25)
    began = time.perf_counter()
    _, found = index.search(questions["question"].tolist(), pool.depth)
    return question_ranks(questions, pool.candidates, found), time.perf_counter() - began


def _compare(
    vectors: Vectors, queries: npt.NDArray[np.float32], depth: int, settings: RetrievalSettings
) -> list[dict[str, Any]]:
    found = compare_indexes(vectors, queries, depth, settings.indexes)
    return [{str(key): value for key, value in row.items()} for row in found.to_dict("records")]
