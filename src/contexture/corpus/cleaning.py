"""Mark paragraphs to drop, each with the first reason that applies.

One pass of Python checks the text itself, faster than Spark expressions.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from contexture.corpus.config import CleaningConfig
from contexture.corpus.duplicates import checkpoint_and_broadcast, find_duplicates
from contexture.corpus.evaluation import EvaluationTexts, find_evaluation_documents
from contexture.corpus.main_content import MainContentModel, main_content_probability
from contexture.text.quality import TEXT_REASONS, drop_reason

#: Reason for paragraphs of documents that an evaluation uses.
EVALUATION_DOCUMENT = "evaluation_document"
#: All reasons, in the order of their checks.
REASONS = (
    EVALUATION_DOCUMENT,
    *TEXT_REASONS,
    "not_main_content",
    "duplicate_document",
    "near_duplicate_document",
    "duplicate_paragraph",
    "near_duplicate_paragraph",
)
_ID = ["doc_id", "paragraph_index"]
SAMPLE_PARAGRAPHS = 20  # by reason
_MAX_SAMPLE_CHARS = 1_000


def mark_dropped_paragraphs(
    paragraphs: DataFrame,
    config: CleaningConfig,
    files: int,
    model: MainContentModel | None = None,
    evaluation: EvaluationTexts | None = None,
) -> DataFrame:
    """Add the columns `dropped` and `duplicate_of` to all paragraphs; no row is removed.

    `dropped` is the first of REASONS that applies, or null. `duplicate_of` is the doc_id of the repeated text, with
    "#paragraph_index" for a paragraph. The table has `files` partitions, each sorted by doc_id and paragraph_index.
    Rows, reasons and order do not depend on the partitions of the input. Runs Spark jobs immediately. Raises ValueError
    if `main_content` is on and `model` is None.
    """
    texts = paragraphs.select(*_ID, "lang", "text")
    if evaluation is None:
        verdicts = checkpoint_and_broadcast(_judge_paragraphs(paragraphs, config, model))
    else:
        evaluation_ids = find_evaluation_documents(paragraphs, evaluation)
        judged_paragraphs = _judge_paragraphs(paragraphs.join(evaluation_ids, "doc_id", "left_anti"), config, model)
        reason, none = F.lit(EVALUATION_DOCUMENT).alias("dropped"), F.lit(None).cast("string").alias("duplicate_of")
        from_evaluation = texts.join(evaluation_ids, "doc_id").select(*_ID, reason, none)
        verdicts = checkpoint_and_broadcast(judged_paragraphs.unionByName(from_evaluation))
    if config.duplicate_documents is not None:
        kept = texts.join(verdicts, _ID, "left_anti")
        repeated = checkpoint_and_broadcast(_find_repeated_documents(kept, config.duplicate_documents))
        verdicts = checkpoint_and_broadcast(
            verdicts.unionByName(kept.join(repeated, "doc_id").select(verdicts.columns))
        )
    if config.duplicate_paragraphs is not None:
        kept = texts.join(verdicts, _ID, "left_anti")
        repeated = _find_repeated_paragraphs(kept, config.duplicate_paragraphs)
        verdicts = checkpoint_and_broadcast(verdicts.unionByName(repeated))
    judged = paragraphs.join(verdicts, _ID, "left").select(*paragraphs.columns, "dropped", "duplicate_of")
    return judged.repartition(files, "doc_id").sortWithinPartitions("lang", *_ID)


def select_kept(cleaned: DataFrame) -> DataFrame:
    """Return the paragraphs that were not dropped, without the columns `dropped` and `duplicate_of`."""
    return cleaned.where(F.col("dropped").isNull()).drop("dropped", "duplicate_of")


def count_paragraphs(cleaned: DataFrame) -> dict[str, Any]:
    """Return by language the paragraphs in, out, and dropped by reason; in = out + the sum of the dropped."""
    rows = cleaned.groupBy("lang", "dropped").agg(F.count("*").alias("n")).collect()
    languages: dict[str, Any] = {}
    for lang in sorted({row.lang for row in rows}):
        counts = {row.dropped: row.n for row in rows if row.lang == lang}
        languages[lang] = {
            "paragraphs_in": sum(counts.values()),
            "paragraphs_out": counts.get(None, 0),
            "dropped": {reason: counts[reason] for reason in REASONS if reason in counts},
        }
    return languages


def count_documents(cleaned: DataFrame, reason: str) -> int:
    """Return the number of documents with a paragraph dropped for this reason."""
    return cleaned.where(F.col("dropped") == reason).select("doc_id").distinct().count()


def sample_dropped(cleaned: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return up to SAMPLE_PARAGRAPHS dropped paragraphs by reason, drawn by a hash of ids, with shortened texts."""
    draw_order = Window.partitionBy("dropped").orderBy(F.xxhash64(*_ID), *_ID)
    sample = (
        cleaned.where(F.col("dropped").isNotNull())
        .select("dropped", *_ID, "title", F.substring("text", 1, _MAX_SAMPLE_CHARS).alias("text"), "duplicate_of")
        .withColumn("rank", F.row_number().over(draw_order))
        .where(F.col("rank") <= SAMPLE_PARAGRAPHS)
        .collect()
    )
    rows = sorted((row.asDict() for row in sample), key=lambda row: row["rank"])
    keys = (*_ID, "title", "text", "duplicate_of")
    return {
        reason: [{key: row[key] for key in keys} for row in rows if row["dropped"] == reason]
        for reason in REASONS
        if any(row["dropped"] == reason for row in rows)
    }


def _judge_paragraphs(paragraphs: DataFrame, config: CleaningConfig, model: MainContentModel | None) -> DataFrame:
    """Return ids and reasons (`dropped`) of the paragraphs that the text filters or the main content model drop."""
    rejected = F.lit(False)
    if config.main_content is not None:
        if model is None:
            raise ValueError("cleaning.main_content is on, but no main content model was trained: set it to null")
        rejected = main_content_probability(model) < config.main_content
    rows = paragraphs.select(*_ID, "lang", "text", rejected.alias("rejected"))
    none = F.lit(None).cast("string")
    schema = rows.select(*_ID, none.alias("dropped"), none.alias("duplicate_of")).schema

    def judge_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ids and reason of each dropped paragraph."""
        for batch in batches:
            texts, langs, rejects = (batch.column(name).to_pylist() for name in ("text", "lang", "rejected"))
            verdicts = [
                drop_reason(text, lang, config.filters) or ("not_main_content" if reject else None)
                for text, lang, reject in zip(texts, langs, rejects, strict=True)
            ]
            reasons = pa.array(verdicts, pa.string())
            columns = [*batch.select(_ID).columns, reasons, pa.nulls(len(reasons), pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=schema.names).filter(reasons.is_valid())

    return rows.mapInArrow(judge_batches, schema)


def _find_repeated_documents(texts: DataFrame, similarity: float) -> DataFrame:
    """Return doc_id, dropped and duplicate_of of documents that repeat another; a document is its joined paragraphs."""
    in_order = F.array_sort(F.collect_list(F.struct("paragraph_index", "text")))["text"]
    documents = texts.groupBy(F.col("doc_id").alias("id"), "lang").agg(F.array_join(in_order, "\n").alias("text"))
    columns = F.col("id").alias("doc_id"), _duplicate_reason("document"), F.col("original").alias("duplicate_of")
    return find_duplicates(documents, similarity).select(*columns)


def _find_repeated_paragraphs(texts: DataFrame, similarity: float) -> DataFrame:
    """Return ids, dropped and duplicate_of of paragraphs that repeat another."""
    repeated = find_duplicates(texts.select(F.struct(*_ID).alias("id"), "lang", "text"), similarity)
    original = F.concat_ws("#", "original.doc_id", "original.paragraph_index")
    return repeated.select("id.*", _duplicate_reason("paragraph"), original.alias("duplicate_of"))


def _duplicate_reason(unit: str) -> Column:
    """Return the column `dropped`: "duplicate_<unit>" if `exact`, else "near_duplicate_<unit>"."""
    kind = F.when(F.col("exact"), f"duplicate_{unit}").otherwise(f"near_duplicate_{unit}")
    return kind.alias("dropped")
