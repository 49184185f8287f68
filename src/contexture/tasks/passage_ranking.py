"""Passages ranked for queries by their words, by vectors and by both, and intervals of the rankings' scores."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pandas as pd

from contexture.metrics.bootstrap import interval
from contexture.metrics.graded import METRICS
from contexture.retrieval.candidates import Retriever, build_bm25
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.search_index import search_exact
from contexture.retrieval.top import EQUAL_WEIGHT, NO_ROW, Rows, fuse
from contexture.tasks.base import EvaluatedEncoder, ParallelMap, list_seeds, measure_encoders
from contexture.tasks.sentences.vectors import folder_name

#: The columns of candidates: the id, and the parts of the text.
COLUMNS = ["id", "title", "text"]
#: The variant that ranks by words, and the suffix of a variant whose ranking is fused with it.
BM25, HYBRID = "bm25", "+bm25"
FROZEN = "frozen"
#: The metric that intervals are given for.
COMPARED = METRICS[0]


def by_words(candidates: Path, queries: Sequence[str], vectors_dir: Path, config: Bm25Config, depth: int) -> Rows:
    """Rank candidates, a Parquet file of COLUMNS, by BM25, whose index is written below `vectors_dir`.

    Returns:
        Row numbers (Q, min(depth, candidates)), best first, −1 if no other candidate shares a word with the query.

    Raises:
        ValueError: for no candidates, or none with a word.
    """
    return build_bm25(ParquetRows(candidates), COLUMNS[1:], vectors_dir / "words", config).search(queries, depth)[1]


def by_vectors(
    encoders: Sequence[str], candidates: Path, queries: Sequence[str], vectors_dir: Path, depth: int
) -> Rows:
    """Rank candidates, a Parquet file of COLUMNS, by the inner products of vectors, see `Retriever`.

    The candidates' vectors are kept below `vectors_dir` and reused for the same model and texts.

    Returns:
        Row numbers (Q, min(depth, candidates)), best first; −1 for a query without a known word, whose vector is 0.

    Raises:
        ValueError: for no candidates, or an encoder that cannot be loaded, naming it.
    """
    retriever = Retriever(encoders, COLUMNS)
    vectors = retriever.embed_candidates(ParquetRows(candidates), vectors_dir / folder_name("+".join(encoders)))
    query_vectors = retriever.embed_queries(queries)
    rows = search_exact(vectors, query_vectors, depth)[1]
    rows[~query_vectors.any(axis=1)] = NO_ROW
    return rows


def rank_all(
    encoders: Sequence[EvaluatedEncoder],
    parallel_map: ParallelMap,
    candidates: Path,
    queries: list[str],
    vectors_dir: Path,
    config: Bm25Config,
    depths: tuple[int, int],
    select: Callable[[Rows], Rows],
    hybrid: Collection[str],
) -> dict[tuple[str, int], Rows]:
    """Rankings of BM25, of all encoders and, for variants in `hybrid`, of both fused, by variant and seed.

    Each ranking has `depths[0]` rows before `select`, which leaves out what is no candidate of a query; fused ones have
    `depths[1]`. Other arguments: see `by_words` and `by_vectors`.
    """
    words = select(by_words(candidates, queries, vectors_dir, config, depths[0]))
    vectors = measure_encoders(by_vectors, encoders, parallel_map, candidates, queries, vectors_dir, depths[0])
    vectors = {encoders: select(rows) for encoders, rows in vectors.items()}
    rankings = {(BM25, seed): words for seed in list_seeds(encoders)}
    for encoder in encoders:
        rows = vectors[encoder.models]
        rankings[encoder.variant, encoder.seed] = rows
        if encoder.variant in hybrid:
            rankings[encoder.variant + HYBRID, encoder.seed] = fuse(rows, words, EQUAL_WEIGHT, depths[1])[1]
    return rankings


def intervals(table: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """nDCG@10 by variant and, except for BM25, its difference to BM25: mean and 95 % interval over queries.

    `table`: variant, seed, query_id and COMPARED of each query; several seeds are averaged.
    """
    values = table.groupby(["variant", "query_id"], sort=False)[COMPARED].mean().unstack("variant")
    measured = {}
    for variant in values.columns:
        measured[variant] = {COMPARED: with_interval(values[variant])}
        if variant != BM25:
            measured[variant]["over_bm25"] = with_interval(values[variant] - values[BM25])
    return measured


def with_interval(values: pd.Series) -> list[float]:
    """The mean of the values of queries, and the ends of its 95 % interval."""
    return [float(values.mean()), *interval(values)]
