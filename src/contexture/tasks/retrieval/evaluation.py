"""Evaluate encoders and BM25: frozen, fine-tuned on shares of the questions, and in the open domain."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from contexture.metrics.scores import RUN_COLUMNS, to_records
from contexture.retrieval.candidates import TEXT_COLUMNS, Retriever, build_bm25
from contexture.retrieval.fusion import EQUAL_WEIGHT, fuse_ranks
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.search_index import compare_indexes, search_exact
from contexture.retrieval.top import Rows
from contexture.retrieval.vectors import Vectors
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, Results, list_seeds, serial_map
from contexture.tasks.examples import select_examples
from contexture.tasks.passage_ranking import BM25, FROZEN, HYBRID
from contexture.tasks.retrieval.config import RECALL_AT, RetrievalSettings, option_name, share_name
from contexture.tasks.retrieval.ranks import METRICS, READ_COLUMNS, gold_rows, question_ranks, recalls
from contexture.tasks.retrieval.reqa import split_questions

NAME = "retrieval"
#: Folder of BM25's index in that of a pool.
BM25_DIR = "bm25"
#: Weights of the encoder's ranking to choose from, and the minimal number of dev questions to choose one.
FUSION_WEIGHTS, MIN_DEV_QUESTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), 20
#: Columns of the table of ranks.
RANK_COLUMNS = [*RUN_COLUMNS, "question_id", "rank", "sentence_rank"]


@dataclass(frozen=True)
class CandidatePool:
    """Candidates of all questions."""

    #: Parquet file with candidate_id, sentence and passage.
    file: Path
    #: Folder for the vectors of each model.
    folder: Path
    #: Whether the candidates include pairs of the corpus.
    is_open: bool = False

    @property
    def candidates(self) -> ParquetRows:
        """Rows of candidates, read from the file."""
        return ParquetRows(self.file)

    @property
    def depth(self) -> int:
        """Number of candidates that are ranked for each question."""
        return min(max(RECALL_AT), len(self.candidates))

    def rank_answers(self, questions: pd.DataFrame, rows: Rows) -> pd.DataFrame:
        """Return the ranks of the questions' answers among the rows; see `question_ranks`."""
        return question_ranks(questions, self.candidates.batches(READ_COLUMNS), rows)


@dataclass(frozen=True)
class RetrievalModel:
    """A frozen or fine-tuned model of an encoder."""

    evaluated: EvaluatedEncoder
    encoders: tuple[str, ...]
    #: Percentage of the questions for fine-tuning; None: frozen.
    share: float | None = None

    @property
    def folder(self) -> Path:
        """Folder of the vectors, relative to that of a pool."""
        option = FROZEN if self.share is None else option_name(self.share)
        return Path(self.evaluated.variant, option, f"seed-{self.evaluated.seed}")


def evaluate_retrieval(
    settings: RetrievalSettings,
    encoders: Sequence[EvaluatedEncoder],
    questions: pd.DataFrame,
    pools: Sequence[CandidatePool],
    data: str,
    parallel_map: ParallelMap = serial_map,
) -> Results:
    """Return the recall of all encoders and of BM25 in all pools of candidates, the first of which is closed.

    BM25 has a record for each seed of the encoders. The table `ranks` has the rank of each answer. Details: `indexes`
    compares approximate with exact search, `speeds` has the speed of BM25, and `examples` has questions with results
    of the best model of the largest share.
    """
    if not encoders:
        return Results()
    models = [model for encoder in encoders for model in list_models(encoder, settings)]
    # Indexes are compared on the first seed, fine-tuned on the largest share.
    index_models = [model for model in models if model.evaluated.variant == settings.indexed and settings.indexes]
    index_model = max(index_models, key=lambda model: (-model.evaluated.seed, model.share or 0.0), default=None)
    searches = [_search_bm25(questions, pool, settings) for pool in pools]
    arguments = []
    for model in models:
        variant = model.evaluated.variant
        model_pools = [pool for pool in pools if not pool.is_open or variant in settings.open_domain]
        bm25_rows = searches[0][0] if variant in settings.hybrid else None
        arguments.append((model, settings, questions, model_pools, model == index_model, bm25_rows))
    outcomes = parallel_map(_evaluate_model, arguments)
    tables = [table for model_tables, _, _ in outcomes for table in model_tables]
    indexes = [row for _, rows, _ in outcomes for row in rows]
    best = max(range(len(models)), key=lambda i: (models[i].share or 0.0, _recall_at_10(outcomes[i][0][0])))
    shares = settings.shares if any(encoder.finetuned_dir for encoder in encoders) else []
    for pool, (rows, _) in zip(pools, searches, strict=True):
        ranks = pool.rank_answers(questions, rows)
        tables += [
            _label_ranks(ranks[is_unseen(questions, share, seed)], BM25, seed, share, pool)
            for share in (None, *shares)
            for seed in list_seeds(encoders)
        ]
    speed = {"what": "BM25 search", "unit": "queries", "per_second": len(questions) / searches[0][1]}
    table = pd.concat(tables, ignore_index=True)[RANK_COLUMNS]
    records = to_records(pd.concat([table[RUN_COLUMNS], recalls(table)], axis=1), METRICS, NAME, data)
    details = {"indexes": indexes, "speeds": [speed], "examples": [outcomes[best][2]]}
    return Results(records, details, {"ranks": table})


def _evaluate_model(
    model: RetrievalModel,
    settings: RetrievalSettings,
    questions: pd.DataFrame,
    pools: Sequence[CandidatePool],
    has_indexes: bool,
    bm25_rows: Rows | None,
) -> tuple[list[pd.DataFrame], list[dict[str, Any]], dict[str, Any]]:
    """Return tables of ranks of a model in each pool, a comparison of indexes if `has_indexes`, and examples.

    `bm25_rows` is BM25's ranking of the closed pool, or None without fusion.
    """
    variant, seed = model.evaluated.variant, model.evaluated.seed
    tables, indexes, examples = [], list[dict[str, Any]](), dict[str, Any]()
    retriever = Retriever(model.encoders)
    is_tested = is_unseen(questions, model.share, seed)
    tested = questions[is_tested]
    queries = retriever.embed_queries(tested["question"].tolist())
    for pool in pools:
        vectors = retriever.embed_candidates(pool.candidates, pool.folder / model.folder)
        rows = search_exact(vectors, queries, pool.depth)[1]
        tables.append(_label_ranks(pool.rank_answers(tested, rows), variant, seed, model.share, pool))
        if pool.is_open:
            continue
        if bm25_rows is not None:
            weight = _choose_weight(model, questions, pool, retriever, vectors, bm25_rows)
            fused = fuse_ranks(rows, bm25_rows[is_tested], weight, pool.depth)[1]
            tables.append(_label_ranks(pool.rank_answers(tested, fused), variant + HYBRID, seed, model.share, pool))
        if has_indexes:
            all_queries = retriever.embed_queries(questions["question"].tolist())
            table = compare_indexes(vectors, all_queries, pool.depth, settings.indexes)
            indexes = [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]
        examples = _make_examples(model, tested.reset_index(drop=True), pool, rows)
    return tables, indexes, examples


def _make_examples(model: RetrievalModel, questions: pd.DataFrame, pool: CandidatePool, rows: Rows) -> dict[str, Any]:
    """Return example questions, answered and missed, with the first candidate and a right one (`select_examples`)."""
    candidates = pool.candidates
    gold, _ = gold_rows(questions, candidates.batches(READ_COLUMNS))
    is_right = [first in answers for first, answers in zip(rows[:, 0], gold, strict=True)]

    def describe_example(number: int) -> dict[str, str]:
        """Return a question with its first candidate and its first right candidate."""
        first, answer = candidates.take([int(rows[number, 0]), int(gold[number][0])])
        return {
            "question": questions["question"][number],
            "predicted": f"{first['title']}: {first['sentence']}",
            "right": f"{answer['title']}: {answer['sentence']}",
        }

    return select_examples(model.evaluated.variant, _protocol_name(model.share), is_right, describe_example)


def _choose_weight(
    model: RetrievalModel,
    questions: pd.DataFrame,
    pool: CandidatePool,
    retriever: Retriever,
    vectors: Vectors,
    bm25_rows: Rows,
) -> float:
    """Return the weight of the encoder's ranking, fused with BM25's, with the best R@10 on its dev questions.

    With too few dev questions, both rankings have the same weight.
    """
    is_dev = np.zeros(len(questions), np.bool_)
    if model.share is not None:
        is_dev = _split_questions(questions, model.share, model.evaluated.seed) == "dev"
    if is_dev.sum() < MIN_DEV_QUESTIONS:
        return EQUAL_WEIGHT
    dev = questions[is_dev]
    rows = search_exact(vectors, retriever.embed_queries(dev["question"].tolist()), pool.depth)[1]
    recall = {
        weight: _recall_at_10(pool.rank_answers(dev, fuse_ranks(rows, bm25_rows[is_dev], weight, pool.depth)[1]))
        for weight in FUSION_WEIGHTS
    }
    return max(recall, key=lambda weight: (recall[weight], -abs(weight - EQUAL_WEIGHT)))


def _recall_at_10(ranks: pd.DataFrame) -> float:
    """Return the mean R@10 over the questions of a table of ranks."""
    return float(recalls(ranks)["recall_at_10"].mean())


def list_models(encoder: EvaluatedEncoder, settings: RetrievalSettings) -> Iterator[RetrievalModel]:
    """Yield the models of an encoder: the frozen encoder, and a fine-tuned model for each share."""
    yield RetrievalModel(encoder, encoder.models)
    if encoder.finetuned_dir is not None:
        for share in settings.shares:
            yield RetrievalModel(encoder, (str(encoder.finetuned_dir / option_name(share)),), share)


def is_unseen(questions: pd.DataFrame, share: float | None, seed: int) -> npt.NDArray[np.bool_]:
    """Return whether each question is a test question of a share and seed; for frozen encoders (share None) all are."""
    if share is None:
        return np.ones(len(questions), np.bool_)
    return np.asarray(_split_questions(questions, share, seed) == "test", np.bool_)


def _split_questions(questions: pd.DataFrame, share: float, seed: int) -> npt.NDArray[np.object_]:
    """Return the part of each question for a share and seed: train, dev or test."""
    return split_questions(questions["question_id"].tolist(), share / 100, seed).to_numpy()


def _label_ranks(
    ranks: pd.DataFrame, variant: str, seed: int, share: float | None, pool: CandidatePool
) -> pd.DataFrame:
    """Return a table of ranks with the added columns variant, seed, split and protocol."""
    protocol = _protocol_name(share) + (" open" if pool.is_open else "")
    return ranks.assign(variant=variant, seed=seed, split="test", protocol=protocol)


def _protocol_name(share: float | None) -> str:
    """Return the name in records of a share of the questions; "frozen" for None."""
    return FROZEN if share is None else share_name(share)


def _search_bm25(questions: pd.DataFrame, pool: CandidatePool, settings: RetrievalSettings) -> tuple[Rows, float]:
    """Return BM25's ranking of a pool's candidates for all questions, and the seconds of the search."""
    index = build_bm25(map(" ".join, pool.candidates.tuples(TEXT_COLUMNS)), pool.folder / BM25_DIR, settings.bm25)
    started = time.perf_counter()
    _, rows = index.search(questions["question"].tolist(), pool.depth)
    return rows, time.perf_counter() - started
