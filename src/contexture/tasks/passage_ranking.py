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
#: What ranking by words is called among the variants.
BM25 = "bm25"
#: The metric that intervals are told of.
COMPARED = METRICS[0]


def by_words(candidates: ParquetRows, queries: Sequence[str], place: Path, config: Bm25Config, depth: int) -> Rows:
    """Rank candidates by BM25.

    Args:
        candidates: the columns COLUMNS.
        queries: Q texts.
        place: the folder to put the index in.
        config: settings of BM25.
        depth: how many to find.

    Returns:
        Row numbers (Q, min(depth, candidates)), best first, −1 where no other candidate shares a word with the query.

    Raises:
        ValueError: for no candidates, or none with a word.
    """
    return index_words(candidates, COLUMNS[1:], place / "words", config).search(queries, depth)[1]


def by_vectors(
    encoders: Sequence[str], candidates: ParquetRows, queries: Sequence[str], place: Path, depth: int
) -> Rows:
    """Rank candidates by the inner products of vectors, see `Retriever`.

    Args:
        encoders: folders or names; the vectors of several stand side by side.
        candidates: the columns COLUMNS.
        queries: Q texts.
        place: the folder to keep the candidates' vectors in; those of the same model and texts are not made again.
        depth: how many to find.

    Returns:
        Row numbers (Q, min(depth, candidates)), best first; −1 for a query whose vector is 0, for want of a known word.

    Raises:
        ValueError: for no candidates, or an encoder that cannot be loaded, naming it.
    """
    retriever = Retriever(encoders, COLUMNS)
    vectors = retriever.candidates(candidates, place / folder_name("+".join(encoders)))
    asked = retriever.queries(queries)
    rows = search_exact(vectors, asked, depth)[1]
    rows[~asked.any(axis=1)] = NOTHING
    return rows


def intervals(table: pd.DataFrame) -> dict[str, dict[str, list[float]]]:
    """Variant → its nDCG@10 and, of all but BM25, how far that is above BM25's: mean and 95 % interval over queries.

    Args:
        table: variant, seed, query_id and COMPARED of each query; that of several seeds is their mean.
    """
    values = table.groupby(["variant", "query_id"], sort=False)[COMPARED].mean().unstack("variant")
    found = {}
    for variant in values.columns:
        found[variant] = {COMPARED: with_interval(values[variant])}
        if variant != BM25:
            found[variant]["over_bm25"] = with_interval(values[variant] - values[BM25])
    return found


def with_interval(values: pd.Series) -> list[float]:
    """The mean of a value a query, and the ends of its 95 % interval."""
    return [float(values.mean()), *interval(values)]
