"""Rank passages by BM25, vectors and both, with confidence intervals of the scores."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from contexture.metrics.bootstrap import bootstrap_interval
from contexture.metrics.graded import METRICS
from contexture.retrieval.candidates import Retriever, build_bm25
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.search_index import search_exact
from contexture.retrieval.top import NO_ROW, Ranking, Rows
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, list_seeds, measure_encoders
from contexture.tasks.sentences.vectors import folder_name

#: Columns of candidates.
COLUMNS = ["id", "title", "text"]
#: The BM25 variant, and the suffix of variants fused with it.
BM25, HYBRID = "bm25", "+bm25"
FROZEN = "frozen"
#: Metric of the intervals.
COMPARED_METRIC = METRICS[0]


def rank_by_words(
    candidates: Path, queries: Sequence[str], vectors_dir: Path, config: Bm25Config, depth: int
) -> Ranking:
    """Return the BM25 ranking of candidates (a Parquet file with `COLUMNS`) for each query.

    The BM25 index is written below `vectors_dir`.

    Returns:
        Scores and rows (Q, min(depth, candidates)), best first; row −1 where no other candidate shares a word with the
        query.

    Raises:
        ValueError: no candidate, or none has a word.
    """
    texts = map(" ".join, ParquetRows(candidates).tuples(COLUMNS[1:]))
    return build_bm25(texts, vectors_dir / "words", config).search(queries, depth)


def rank_by_vectors(
    encoders: Sequence[str], candidates: Path, queries: Sequence[str], vectors_dir: Path, depth: int
) -> Ranking:
    """Return the ranking of candidates (a Parquet file with `COLUMNS`) by vectors, for each query; see `Retriever`.

    The candidates' vectors are cached below `vectors_dir`.

    Returns:
        Scores and rows (Q, min(depth, candidates)), best first; row −1 for a query without a known word (vector 0).

    Raises:
        ValueError: no candidate, or an encoder that cannot be loaded.
    """
    retriever = Retriever(encoders, COLUMNS)
    vectors = retriever.embed_candidates(ParquetRows(candidates), vectors_dir / folder_name("+".join(encoders)))
    query_vectors = retriever.embed_queries(queries)
    scores, rows = search_exact(vectors, query_vectors, depth)
    rows[~query_vectors.any(axis=1)] = NO_ROW
    return scores, rows


def drop_row(ranking: Ranking, dropped_rows: Rows, k: int) -> Ranking:
    """Return the first k results of each query without the candidate in `dropped_rows` (Q,); −1 drops none."""
    scores, ranked = ranking
    kept = np.where(ranked == dropped_rows[:, None], NO_ROW, ranked)
    order = np.argsort(kept == NO_ROW, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(kept, order, axis=1)


def rank_all(
    encoders: Sequence[EvaluatedEncoder],
    parallel_map: ParallelMap,
    candidates: Path,
    queries: list[str],
    vectors_dir: Path,
    config: Bm25Config,
    depth: int,
    select: Callable[[Ranking], Ranking],
) -> dict[tuple[str, int], Ranking]:
    """Return (variant, seed) → ranking of the candidates for each query, by BM25 and by all encoders.

    Rankings have `depth` rows before `select` removes rows that are no candidates of their query. Other arguments: see
    `rank_by_words` and `rank_by_vectors`.
    """
    words = select(rank_by_words(candidates, queries, vectors_dir, config, depth))
    by_models = measure_encoders(rank_by_vectors, encoders, parallel_map, candidates, queries, vectors_dir, depth)
    by_vectors = {models: select(ranking) for models, ranking in by_models.items()}
    return {(BM25, seed): words for seed in list_seeds(encoders)} | {
        (encoder.variant, encoder.seed): by_vectors[encoder.models] for encoder in encoders
    }


def measure_intervals(table: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Return variant → mean nDCG@10 and mean difference to BM25, each with a 95% interval over queries.

    `table` has variant, seed, query_id and `COMPARED_METRIC`, one row per query. Seeds are averaged.
    """
    values = table.groupby(["variant", "query_id"], sort=False)[COMPARED_METRIC].mean().unstack("variant")
    measured = {}
    for variant in values.columns:
        measured[variant] = {COMPARED_METRIC: mean_with_interval(values[variant])}
        if variant != BM25:
            measured[variant]["over_bm25"] = mean_with_interval(values[variant] - values[BM25])
    return measured


def mean_with_interval(values: pd.Series) -> list[float]:
    """Return the mean of the values and the ends of its 95% interval."""
    return [float(values.mean()), *bootstrap_interval(values)]
