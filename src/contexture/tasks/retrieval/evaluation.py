"""Rankings of all encoders and of BM25: frozen, fine-tuned on shares of the questions, and in the open domain."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.metrics.scores import RUN_COLUMNS, to_records
from contexture.retrieval.candidates import PARTS, Retriever, index_words
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.search_index import compare_indexes, search_exact
from contexture.retrieval.top import EVEN, Rows, fuse
from contexture.retrieval.vectors import Vectors
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, list_seeds, serial_map
from contexture.tasks.examples import select_examples
from contexture.tasks.passage_ranking import BM25, FROZEN, HYBRID
from contexture.tasks.retrieval.config import RECALL_AT, RetrievalSettings, option_name, share_name
from contexture.tasks.retrieval.ranks import METRICS, READ, gold_rows, question_ranks, recalls
from contexture.tasks.retrieval.reqa import split_questions

NAME = "retrieval"
#: The folder of BM25's index in that of a pool.
WORDS = "bm25"
#: Weights of the encoder's ranking that are tried, and the least held-out questions to choose one.
WEIGHTS, ENOUGH = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), 20
#: The columns of the table of ranks.
COLUMNS = [*RUN_COLUMNS, "question_id", "rank", "sentence_rank"]


@dataclass(frozen=True)
class Pool:
    """Candidates among which answers are searched."""

    #: A Parquet file: candidate_id, sentence, passage.
    file: Path
    #: Keeps their vectors, a folder for each model.
    folder: Path
    #: Whether pairs of the corpus are among them.
    is_open: bool = False

    @property
    def candidates(self) -> ParquetRows:
        """The file, opened."""
        return ParquetRows(self.file)

    @property
    def depth(self) -> int:
        """Candidates that are ranked for each question."""
        return min(max(RECALL_AT), len(self.candidates))

    def ranks(self, questions: pd.DataFrame, rows: Rows) -> pd.DataFrame:
        """Ranks of the questions' answers among the rows, see `question_ranks`."""
        return question_ranks(questions, self.candidates.batches(READ), rows)


@dataclass(frozen=True)
class Measured:
    """One model of a encoder."""

    evaluated: EvaluatedEncoder
    encoders: tuple[str, ...]
    #: Percent of the questions that it was fine-tuned on; None: frozen.
    share: float | None = None

    @property
    def folder(self) -> Path:
        """The folder of its vectors in that of a pool."""
        option = FROZEN if self.share is None else option_name(self.share)
        return Path(self.evaluated.variant, option, f"seed-{self.evaluated.seed}")


def evaluate_retrieval(
    settings: RetrievalSettings,
    encoders: Sequence[EvaluatedEncoder],
    questions: pd.DataFrame,
    pools: Sequence[Pool],
    data: str,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Recalls of all encoders and of BM25, which has their seeds, in all pools, the first of which is closed.

    The table `ranks` has the rank of each question's answer. The fact `indexes` compares approximate indexes with
    exact search, `speeds` has the speed of BM25's search, and `examples` a few questions to read, of the best of the
    models that were fine-tuned on most.
    """
    if not encoders:
        return Results()
    models = [model for encoder in encoders for model in models_of(encoder, settings)]
    # Indexes are compared on the model of the first seed that was fine-tuned on most.
    named = [model for model in models if model.evaluated.variant == settings.indexed and settings.indexes]
    indexed = max(named, key=lambda model: (-model.evaluated.seed, model.share or 0.0), default=None)
    searches = [_search_words(questions, pool, settings) for pool in pools]
    arguments = []
    for model in models:
        variant = model.evaluated.variant
        searched = [pool for pool in pools if not pool.is_open or variant in settings.open_domain]
        words = searches[0][0] if variant in settings.hybrid else None
        arguments.append((model, settings, questions, searched, model == indexed, words))
    measured = parallel_map(_measure, arguments)
    tables = [table for model_tables, _, _ in measured for table in model_tables]
    indexes = [row for _, rows, _ in measured for row in rows]
    best = max(range(len(models)), key=lambda i: (models[i].share or 0.0, _recall_at_10(measured[i][0][0])))
    shares = settings.shares if any(encoder.finetuned_dir for encoder in encoders) else []
    for pool, (rows, _) in zip(pools, searches, strict=True):
        ranks = pool.ranks(questions, rows)
        tables += [
            _run(ranks[unseen(questions, share, seed)], BM25, seed, share, pool)
            for share in (None, *shares)
            for seed in list_seeds(encoders)
        ]
    speed = {"what": "BM25 search", "unit": "queries", "per_second": len(questions) / searches[0][1]}
    table = pd.concat(tables, ignore_index=True)[COLUMNS]
    records = to_records(pd.concat([table[RUN_COLUMNS], recalls(table)], axis=1), METRICS, NAME, data)
    details = {"indexes": indexes, "speeds": [speed], "examples": [measured[best][2]]}
    return Results(records, details, {"ranks": table})


def _measure(
    model: Measured,
    settings: RetrievalSettings,
    questions: pd.DataFrame,
    pools: Sequence[Pool],
    indexed: bool,
    words: Rows | None,
) -> tuple[list[pd.DataFrame], list[dict[str, Any]], dict[str, Any]]:
    """The ranks of one model in all pools, approximate indexes of its vectors if `indexed`, and examples.

    `words`: BM25's ranking of the closed pool for each question, if both shall be fused.
    """
    variant, seed = model.evaluated.variant, model.evaluated.seed
    tables, indexes, examples = [], list[dict[str, Any]](), dict[str, Any]()
    retriever = Retriever(model.encoders)
    is_tested = unseen(questions, model.share, seed)
    tested = questions[is_tested]
    queries = retriever.queries(tested["question"].tolist())
    for pool in pools:
        vectors = retriever.candidates(pool.candidates, pool.folder / model.folder)
        rows = search_exact(vectors, queries, pool.depth)[1]
        tables.append(_run(pool.ranks(tested, rows), variant, seed, model.share, pool))
        if pool.is_open:
            continue
        if words is not None:
            weight = _weight(model, questions, pool, retriever, vectors, words)
            fused = fuse(rows, words[is_tested], weight, pool.depth)[1]
            tables.append(_run(pool.ranks(tested, fused), variant + HYBRID, seed, model.share, pool))
        if indexed:
            all_queries = retriever.queries(questions["question"].tolist())
            table = compare_indexes(vectors, all_queries, pool.depth, settings.indexes)
            indexes = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
        examples = _examples(model, tested.reset_index(drop=True), pool, rows)
    return tables, indexes, examples


def _examples(model: Measured, questions: pd.DataFrame, pool: Pool, rows: Rows) -> dict[str, Any]:
    """Questions whose answer ranks first, and others, with the answer and the first candidate."""
    candidates = pool.candidates
    gold, _ = gold_rows(questions, candidates.batches(READ))
    right = [first in answers for first, answers in zip(rows[:, 0], gold, strict=True)]

    def row(number: int) -> dict[str, str]:
        first, answer = candidates.take([int(rows[number, 0]), int(gold[number][0])])
        return {
            "question": questions["question"][number],
            "found": f"{first['title']}: {first['sentence']}",
            "right": f"{answer['title']}: {answer['sentence']}",
        }

    return select_examples(model.evaluated.variant, _protocol(model.share), right, row)


def _weight(
    model: Measured, questions: pd.DataFrame, pool: Pool, retriever: Retriever, vectors: Vectors, words: Rows
) -> float:
    """The weight of the encoder's ranking with the best R@10 on the questions held out from its fine-tuning."""
    is_dev = np.zeros(len(questions), np.bool_)
    if model.share is not None:
        is_dev = _split(questions, model.share, model.evaluated.seed) == "dev"
    if is_dev.sum() < ENOUGH:
        return EVEN
    dev = questions[is_dev]
    rows = search_exact(vectors, retriever.queries(dev["question"].tolist()), pool.depth)[1]
    recall = {
        weight: _recall_at_10(pool.ranks(dev, fuse(rows, words[is_dev], weight, pool.depth)[1])) for weight in WEIGHTS
    }
    return max(recall, key=lambda weight: (recall[weight], -abs(weight - EVEN)))


def _recall_at_10(ranks: pd.DataFrame) -> float:
    return float(recalls(ranks)["recall_at_10"].mean())


def models_of(encoder: EvaluatedEncoder, settings: RetrievalSettings) -> Iterator[Measured]:
    """The frozen encoders, and the models fine-tuned from them."""
    yield Measured(encoder, encoder.models)
    if encoder.finetuned_dir is not None:
        for share in settings.shares:
            yield Measured(encoder, (str(encoder.finetuned_dir / option_name(share)),), share)


def unseen(questions: pd.DataFrame, share: float | None, seed: int) -> npt.NDArray[np.bool_]:
    """Whether each question is neither trained on nor held out; frozen encoders are tested on all."""
    if share is None:
        return np.ones(len(questions), np.bool_)
    return np.asarray(_split(questions, share, seed) == "test", np.bool_)


def _split(questions: pd.DataFrame, share: float, seed: int) -> npt.NDArray[np.object_]:
    """The split of each question: train, dev or test."""
    return split_questions(questions["question_id"].tolist(), share / 100, seed).to_numpy()


def _run(ranks: pd.DataFrame, variant: str, seed: int, share: float | None, pool: Pool) -> pd.DataFrame:
    protocol = _protocol(share) + (" open" if pool.is_open else "")
    return ranks.assign(variant=variant, seed=seed, split="test", protocol=protocol)


def _protocol(share: float | None) -> str:
    return FROZEN if share is None else share_name(share)


def _search_words(questions: pd.DataFrame, pool: Pool, settings: RetrievalSettings) -> tuple[Rows, float]:
    """BM25's ranking for all questions, and the seconds of the search."""
    index = index_words(pool.candidates, PARTS, pool.folder / WORDS, settings.bm25)
    started = time.perf_counter()
    _, rows = index.search(questions["question"].tolist(), pool.depth)
    return rows, time.perf_counter() - started
