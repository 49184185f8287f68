"""Which paragraphs of the corpus are dropped, and why; the first reason that applies counts.

The reasons about the text itself take one pass of Python: twice as fast as the same in Spark expressions.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from contexture.corpus.config import CleaningConfig
from contexture.corpus.duplicates import few, find_duplicates, on_disk
from contexture.corpus.evaluation import Evaluation, evaluation_documents
from contexture.corpus.main_content import Model, probability
from contexture.text.quality import TEXT_REASONS, drop_reason

#: Why the paragraphs of a document that an evaluation asks about are dropped.
EVALUATION_DOCUMENT = "evaluation_document"
#: Every reason, in the order in which they are tried.
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
SAMPLE = 20  # dropped paragraphs to show for each reason
_SAMPLE_CHARACTERS = 1_000


def clean(
    paragraphs: DataFrame,
    config: CleaningConfig,
    files: int,
    model: Model | None = None,
    evaluation: Evaluation | None = None,
) -> DataFrame:
    """All paragraphs with two more columns; `files` partitions, sorted by doc_id and paragraph_index in each.

    `dropped` is one of REASONS, null for those kept. `duplicate_of` is the doc_id of the text that is repeated, with
    "#paragraph_index" for a paragraph. Rows, reasons and order do not depend on the partitions of the input. Runs Spark
    jobs at once; raises ValueError if `main_content` is on and `model` is None.
    """
    texts = paragraphs.select(*_ID, "lang", "text")
    if evaluation is None:
        verdicts = few(on_disk(_unfit(paragraphs, config, model)))
    else:
        evaluated = evaluation_documents(paragraphs, evaluation)
        unfit = _unfit(paragraphs.join(evaluated, "doc_id", "left_anti"), config, model)
        reason, none = F.lit(EVALUATION_DOCUMENT).alias("dropped"), F.lit(None).cast("string").alias("duplicate_of")
        verdicts = few(on_disk(unfit.unionByName(texts.join(evaluated, "doc_id").select(*_ID, reason, none))))
    if config.duplicate_documents is not None:
        kept = texts.join(verdicts, _ID, "left_anti")
        repeated = few(on_disk(_repeated_documents(kept, config.duplicate_documents)))
        verdicts = few(on_disk(verdicts.unionByName(kept.join(repeated, "doc_id").select(verdicts.columns))))
    if config.duplicate_paragraphs is not None:
        kept = texts.join(verdicts, _ID, "left_anti")
        verdicts = few(on_disk(verdicts.unionByName(_repeated_paragraphs(kept, config.duplicate_paragraphs))))
    judged = paragraphs.join(verdicts, _ID, "left").select(*paragraphs.columns, "dropped", "duplicate_of")
    return judged.repartition(files, "doc_id").sortWithinPartitions("lang", *_ID)


def kept(cleaned: DataFrame) -> DataFrame:
    """The paragraphs that were not dropped, without the columns that `clean` added."""
    return cleaned.where(F.col("dropped").isNull()).drop("dropped", "duplicate_of")


def count(cleaned: DataFrame) -> dict[str, Any]:
    """Paragraphs in, out, and dropped by language and reason; in = out + the sum of the dropped."""
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
    """Documents of which a paragraph was dropped for this reason."""
    return cleaned.where(F.col("dropped") == reason).select("doc_id").distinct().count()


def sample_dropped(cleaned: DataFrame) -> dict[str, list[dict[str, Any]]]:
    """By reason, SAMPLE dropped paragraphs to read, drawn by a hash of their ids; at most 1,000 characters."""
    draw = Window.partitionBy("dropped").orderBy(F.xxhash64(*_ID), *_ID)
    sample = (
        cleaned.where(F.col("dropped").isNotNull())
        .select("dropped", *_ID, "title", F.substring("text", 1, _SAMPLE_CHARACTERS).alias("text"), "duplicate_of")
        .withColumn("rank", F.row_number().over(draw))
        .where(F.col("rank") <= SAMPLE)
        .collect()
    )
    rows = sorted((row.asDict() for row in sample), key=lambda row: row["rank"])
    keys = (*_ID, "title", "text", "duplicate_of")
    return {
        reason: [{key: row[key] for key in keys} for row in rows if row["dropped"] == reason]
        for reason in REASONS
        if any(row["dropped"] == reason for row in rows)
    }


def _unfit(paragraphs: DataFrame, config: CleaningConfig, model: Model | None) -> DataFrame:
    """The verdicts (ids, dropped, duplicate_of) that need one paragraph alone."""
    rejected = F.lit(False)
    if config.main_content is not None:
        if model is None:
            raise ValueError("cleaning.main_content is on, but no model of main content was trained: set it to null")
        rejected = probability(model) < config.main_content
    rows = paragraphs.select(*_ID, "lang", "text", rejected.alias("rejected"))
    none = F.lit(None).cast("string")
    schema = rows.select(*_ID, none.alias("dropped"), none.alias("duplicate_of")).schema

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts, langs, rejects = (batch.column(name).to_pylist() for name in ("text", "lang", "rejected"))
            verdicts = [
                drop_reason(text, lang, config.filters) or ("not_main_content" if reject else None)
                for text, lang, reject in zip(texts, langs, rejects, strict=True)
            ]
            reasons = pa.array(verdicts, pa.string())
            columns = [*batch.select(_ID).columns, reasons, pa.nulls(len(reasons), pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=schema.names).filter(reasons.is_valid())

    return rows.mapInArrow(run, schema)


def _repeated_documents(texts: DataFrame, similarity: float) -> DataFrame:
    """Verdicts (doc_id, dropped, duplicate_of) on documents, whose text is that of their paragraphs."""
    in_order = F.array_sort(F.collect_list(F.struct("paragraph_index", "text")))["text"]
    documents = texts.groupBy(F.col("doc_id").alias("id"), "lang").agg(F.array_join(in_order, "\n").alias("text"))
    repeated = find_duplicates(documents, similarity)
    return repeated.select(F.col("id").alias("doc_id"), _kind("document"), F.col("original").alias("duplicate_of"))


def _repeated_paragraphs(texts: DataFrame, similarity: float) -> DataFrame:
    """Verdicts (ids, dropped, duplicate_of) on paragraphs."""
    repeated = find_duplicates(texts.select(F.struct(*_ID).alias("id"), "lang", "text"), similarity)
    original = F.concat_ws("#", "original.doc_id", "original.paragraph_index")
    return repeated.select("id.*", _kind("paragraph"), original.alias("duplicate_of"))


def _kind(unit: str) -> Column:
    kind = F.when(F.col("exact"), f"duplicate_{unit}").otherwise(f"near_duplicate_{unit}")
    return kind.alias("dropped")
