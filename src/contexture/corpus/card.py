"""Content of the corpus card: counts, histograms and sample paragraphs."""

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

_MAX_PARAGRAPH_CHARS = 1_500
_BARS_PER_DOUBLING = 2


def build_card(paragraphs: DataFrame, sample: int = 10) -> dict[str, Any]:
    """Return counts by language, histograms of lengths, and `sample` paragraphs drawn by a hash of their ids.

    Words are separated by spaces. A histogram is a list of (lower bound, upper bound, count).
    """
    rows = paragraphs.select(
        "lang",
        "doc_id",
        F.size("sentences").alias("sentences"),
        F.length("text").alias("characters"),
        F.size(F.split("text", " ")).alias("words"),
        F.size("links").alias("links"),
        F.size(F.filter("links", lambda link: link["doc_id"].isNotNull())).alias("resolved"),
    )
    documents = rows.groupBy("lang", "doc_id").agg(
        F.count("*").alias("paragraphs"),
        *(F.sum(name).alias(name) for name in ("sentences", "characters", "words", "links", "resolved")),
    )
    totals = documents.groupBy("lang").agg(
        F.count("*").alias("documents"),
        *(F.sum(name).alias(name) for name in ("paragraphs", "sentences", "words", "characters", "links", "resolved")),
    )
    return {
        "languages": {row.pop("lang"): row for row in (row.asDict() for row in totals.orderBy("lang").collect())},
        "histograms": {
            "characters a paragraph": _histogram(rows, F.col("characters")),
            "sentences a paragraph": _histogram(rows, F.col("sentences")),
            "paragraphs a document": _histogram(documents, F.col("paragraphs")),
        },
        "paragraphs": _sample_paragraphs(paragraphs, sample),
    }


def _histogram(rows: DataFrame, value: Column) -> list[tuple[int, int, int]]:
    """Return (lower bound, upper bound, count) of each bar of a column's histogram, with two bars per doubling."""
    step = F.floor(F.log2(F.greatest(value, F.lit(1))) * _BARS_PER_DOUBLING).cast("int")
    counts = {row.step: row["count"] for row in rows.groupBy(step.alias("step")).count().collect()}
    steps = range(min(counts, default=0), max(counts, default=-1) + 1)
    bounds = [(round(2 ** (i / _BARS_PER_DOUBLING)), round(2 ** ((i + 1) / _BARS_PER_DOUBLING))) for i in steps]
    bars = [(*pair, counts.get(i, 0)) for i, pair in zip(steps, bounds, strict=True)]
    return [bar for bar in bars if bar[2] or bar[0] < bar[1]]


def _sample_paragraphs(paragraphs: DataFrame, size: int) -> list[dict[str, Any]]:
    """Return `size` paragraphs, drawn by a hash of their ids, as dictionaries with shortened texts."""
    text = F.substring("text", 1, _MAX_PARAGRAPH_CHARS).alias("text")
    drawn = paragraphs.orderBy(F.xxhash64("doc_id", "paragraph_index"), "doc_id", "paragraph_index").limit(size)
    return [row.asDict() for row in drawn.select("lang", "doc_id", "title", "section", text).collect()]
