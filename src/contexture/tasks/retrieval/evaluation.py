"""Every contestant on the questions: frozen, fine-tuned on shares of them, in the open domain; and BM25 beside them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.metrics.scores import RUN, to_records
from contexture.retrieval.candidates import PARTS, Retriever, index_words
from contexture.retrieval.fusion import EVEN, fuse
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.search_index import compare_indexes, search_exact
from contexture.retrieval.top import Rows
from contexture.retrieval.vectors import Vectors
from contexture.tasks.base import Contestant, Each, Results, one_by_one, seeds_of
from contexture.tasks.examples import to_read
from contexture.tasks.retrieval.config import RECALL_AT, RetrievalSettings, option_name, share_name
from contexture.tasks.retrieval.ranks import METRICS, READ, gold_rows, question_ranks, recalls
from contexture.tasks.retrieval.reqa import split_questions

NAME = "retrieval"
FROZEN = "frozen"
#: Behind the name of a variant whose ranking is fused with BM25's.
HYBRID = "+bm25"
#: Where the index of BM25 lies in the folder of a pool.
WORDS = "bm25"
#: Weights of the encoder's ranking that are tried, and as many held-out questions as choosing one needs.
WEIGHTS, ENOUGH = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), 20
#: The columns of the table of ranks.
COLUMNS = [*RUN, "question_id", "rank", "sentence_rank"]


@dataclass(frozen=True)
class Pool:
    """Candidates among which answers are looked for."""

    #: A Parquet file: candidate_id, sentence, passage.
    file: Path
    #: Where their vectors lie, a folder a model.
    folder: Path
    #: Whether they are joined by pairs of the corpus.
    is_open: bool = False

    @property
    def candidates(self) -> ParquetRows:
        """The file, opened."""
        return ParquetRows(self.file)

    @property
    def depth(self) -> int:
        """So many are found for each question."""
        return min(max(RECALL_AT), len(self.candidates))

    def ranks(self, questions: pd.DataFrame, found: Rows) -> pd.DataFrame:
        """Where the answers of the questions are among those that were found, see `question_ranks`."""
        return question_ranks(questions, self.candidates.batches(READ), found)


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
    exact search, `speeds` tells how fast BM25 searched, and `examples` has some questions to read, of the best of the
    models that were fine-tuned on most.
    """
    if not contestants:
        return Results()
    indexed = _indexed(settings, contestants)
    models = [one for contestant in contestants for one in models_of(contestant, settings)]
    words = [_bm25(questions, pool, settings) for pool in pools]
    given = []
    for one in models:
        variant = one.contestant.variant
        searched = [pool for pool in pools if not pool.is_open or variant in settings.open_domain]
        fused = words[0][0] if variant in settings.hybrid else None
        given.append((one, settings, questions, searched, one == indexed, fused))
    measured = each(_measure, given)
    tables = [table for found, _, _ in measured for table in found]
    indexes = [row for _, found, _ in measured for row in found]
    best = max(range(len(models)), key=lambda place: (models[place].share or 0.0, _recall_at_10(measured[place][0][0])))
    examples = [measured[best][2]]
    shares = settings.shares if any(one.finetuned for one in contestants) else []
    seeds = seeds_of(contestants)
    speeds: list[dict[str, Any]] = []
    for pool, (rows, seconds) in zip(pools, words, strict=True):
        found = pool.ranks(questions, rows)
        tables += [
            _run(found[unseen(questions, share, seed)], "bm25", seed, share, pool)
            for share in (None, *shares)
            for seed in seeds
        ]
        if not pool.is_open:
            speeds.append({"what": "BM25 search", "unit": "queries", "per_second": len(questions) / seconds})
    table = pd.concat(tables, ignore_index=True)[COLUMNS]
    records = to_records(pd.concat([table[RUN], recalls(table)], axis=1), METRICS, NAME, data)
    return Results(records, {"indexes": indexes, "speeds": speeds, "examples": examples}, {"ranks": table})


def _measure(
    measured: Measured,
    settings: RetrievalSettings,
    questions: pd.DataFrame,
    pools: Sequence[Pool],
    indexed: bool,
    words: Rows | None,
) -> tuple[list[pd.DataFrame], list[dict[str, Any]], dict[str, Any]]:
    """The ranks of one model in all pools given, approximate indexes of its vectors if `indexed`, and examples.

    `words`: what BM25 found for each question in the closed pool, where both shall be fused.
    """
    one, tables, indexes, examples = measured.contestant, [], list[dict[str, Any]](), dict[str, Any]()
    retriever = Retriever(measured.encoders)
    tested = questions[unseen(questions, measured.share, one.seed)]
    queries = retriever.queries(tested["question"].tolist())
    for pool in pools:
        vectors = retriever.candidates(pool.candidates, pool.folder / measured.place)
        rows = search_exact(vectors, queries, pool.depth)[1]
        ranks = pool.ranks(tested, rows)
        tables.append(_run(ranks, one.variant, one.seed, measured.share, pool))
        if words is not None and not pool.is_open:
            weight = _weight(measured, questions, pool, retriever, vectors, words)
            fused = fuse(rows, words[unseen(questions, measured.share, one.seed)], weight, pool.depth)[1]
            ranks = pool.ranks(tested, fused)
            tables.append(_run(ranks, one.variant + HYBRID, one.seed, measured.share, pool))
        if indexed and not pool.is_open:
            indexes = _compare(vectors, retriever.queries(questions["question"].tolist()), pool.depth, settings)
        if not pool.is_open:
            examples = _examples(measured, tested.reset_index(drop=True), pool, rows)
    return tables, indexes, examples


def _examples(measured: Measured, questions: pd.DataFrame, pool: Pool, found: Rows) -> dict[str, Any]:
    """Questions whose answer came first, and others, with the answer and what came first."""
    candidates = pool.candidates
    gold, _ = gold_rows(questions, candidates.batches(READ))
    right = [first in answers for first, answers in zip(found[:, 0], gold, strict=True)]

    def row(place: int) -> dict[str, str]:
        first, answer = candidates.take([int(found[place, 0]), int(gold[place][0])])
        texts = {"found": first, "right": answer}
        return {"question": questions["question"][place]} | {
            name: f"{one['title']}: {one['sentence']}" for name, one in texts.items()
        }

    return to_read(measured.contestant.variant, _protocol(measured.share), right, row)


def _weight(
    measured: Measured, questions: pd.DataFrame, pool: Pool, retriever: Retriever, vectors: Vectors, words: Rows
) -> float:
    """The weight of the encoder's ranking with the best R@10 on the questions held out from its fine-tuning."""
    if measured.share is None:
        return EVEN
    held = _split(questions, measured.share, measured.contestant.seed) == "dev"
    if held.sum() < ENOUGH:
        return EVEN
    rows = search_exact(vectors, retriever.queries(questions["question"][held].tolist()), pool.depth)[1]
    reached = {
        weight: _recall_at_10(pool.ranks(questions[held], fuse(rows, words[held], weight, pool.depth)[1]))
        for weight in WEIGHTS
    }
    return max(reached, key=lambda weight: (reached[weight], -abs(weight - EVEN)))


def _recall_at_10(ranks: pd.DataFrame) -> float:
    return float(recalls(ranks)["recall_at_10"].mean())


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
    tested: npt.NDArray[np.bool_] = _split(questions, share, seed) == "test"
    return tested


def _split(questions: pd.DataFrame, share: float, seed: int) -> npt.NDArray[np.object_]:
    """train, dev or test of each question."""
    return split_questions(questions["question_id"].tolist(), share / 100, seed).to_numpy()


def _indexed(settings: RetrievalSettings, contestants: Sequence[Contestant]) -> Measured | None:
    """The model whose vectors are compared: of the first seed, fine-tuned on most."""
    named = [one for one in contestants if one.variant == settings.indexed and settings.indexes]
    if not named:
        return None
    models = models_of(min(named, key=lambda one: one.seed), settings)
    return max(models, key=lambda one: one.share or 0.0)


def _run(ranks: pd.DataFrame, variant: str, seed: int, share: float | None, pool: Pool) -> pd.DataFrame:
    protocol = _protocol(share)
    return ranks.assign(
        variant=variant, seed=seed, split="test", protocol=f"{protocol} open" if pool.is_open else protocol
    )


def _protocol(share: float | None) -> str:
    return FROZEN if share is None else share_name(share)


def _bm25(questions: pd.DataFrame, pool: Pool, settings: RetrievalSettings) -> tuple[Rows, float]:
    """What BM25 found for all questions, and the seconds that it searched."""
    index = index_words(pool.candidates, PARTS, pool.folder / WORDS, settings.bm25)
    began = time.perf_counter()
    _, found = index.search(questions["question"].tolist(), pool.depth)
    return found, time.perf_counter() - began


def _compare(
    vectors: Vectors, queries: npt.NDArray[np.float32], depth: int, settings: RetrievalSettings
) -> list[dict[str, Any]]:
    found = compare_indexes(vectors, queries, depth, settings.indexes)
    return [{str(key): value for key, value in row.items()} for row in found.to_dict("records")]
