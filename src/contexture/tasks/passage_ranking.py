"""Passages ranked for queries, by their words or by vectors; `metrics.fusion` makes one ranking of both."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from contexture.metrics.bootstrap import interval
from contexture.metrics.graded import METRICS
from contexture.retrieval.candidates import Retriever, index_words
from contexture.retrieval.config import Bm25Config
from contexture.retrieval.parquet_rows import ParquetRows
from contexture.retrieval.search_index import search_exact
from contexture.retrieval.top import NOTHING, Rows
from contexture.tasks.sentences.vectors import folder_name

#: The columns of candidates: the id, and the parts of the text.
COLUMNS = ["id", "title", "text"]
#: Name among the variants of ranking by words.
BM25 = "bm25"
#: The metric that has intervals.
COMPARED = METRICS[0]


def by_words(candidates: ParquetRows, queries: Sequence[str], place: Path, config: Bm25Config, depth: int) -> Rows:
    """Rank candidates, with the columns COLUMNS, by BM25; the index is kept in `place`.

    Returns:
        Row numbers (Q, min(depth, candidates)), best first, −1 where no other candidate shares a word with the query.

    Raises:
        ValueError: for no candidates, or none with a word.
    """
    return index_words(candidates, COLUMNS[1:], place / "words", config).search(queries, depth)[1]


def by_vectors(
    encoders: Sequence[str], candidates: ParquetRows, queries: Sequence[str], place: Path, depth: int
) -> Rows:
    """Rank candidates, with the columns COLUMNS, by the inner products of vectors, see `Retriever`.

    The candidates' vectors are kept in `place`, and reused for the same model and texts.

    Returns:
        Row numbers (Q, min(depth, candidates)), best first; −1 for a query without a known word: its vector is 0.

    Raises:
        ValueError: for no candidates, or an encoder that cannot be loaded, naming it.
    """
    retriever = Retriever(encoders, COLUMNS)
    vectors = retriever.candidates(candidates, place / folder_name("+".join(encoders)))
    query_vectors = retriever.queries(queries)
    rows = search_exact(vectors, query_vectors, depth)[1]
    rows[~query_vectors.any(axis=1)] = NOTHING
    return rows


def intervals(table: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Variant → its nDCG@10 and, but for BM25, the difference to BM25's: mean and 95 % interval over queries.

    `table` has variant, seed, query_id and COMPARED of each query; several seeds are averaged.
    """
    values = table.groupby(["variant", "query_id"], sort=False)[COMPARED].mean().unstack("variant")
    result = {}
    for variant in values.columns:
        result[variant] = {COMPARED: with_interval(values[variant])}
        if variant != BM25:
            result[variant]["over_bm25"] = with_interval(values[variant] - values[BM25])
    return result


def with_interval(values: pd.Series) -> list[float]:
    """The mean of the queries' values, and the ends of its 95 % interval."""
    return [float(values.mean()), *interval(values)]
