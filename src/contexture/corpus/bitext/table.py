"""Parallel sentences on Spark: every pair of every set, and why one was dropped.

Content and order of the rows do not depend on the number of cores.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from contexture.corpus.bitext.config import BitextConfig, BitextSet
from contexture.corpus.bitext.files import Pair, read_pairs
from contexture.text.language_codes import two_letters
from contexture.text.languages import in_one_language, likeness

#: Why a pair is dropped, in the order in which the reasons are tried; the first counts.
REASONS = ("missing_side", "not_utf8", "empty", "identical", "length_ratio", "duplicate")
#: Two sides that are more alike than this, as `likeness` measures it, are of one language, or of two dialects.
SAME_LANGUAGE = 0.95

_COLUMNS = ("set", "number", "source_lang", "target_lang", "source", "target", "dropped")
_SCHEMA = ", ".join(f"{name} {'bigint' if name == 'number' else 'string'}" for name in _COLUMNS)
_ID = ("set", "number")
_BATCH = 4096
_FILES = 4  # of the table
#: Of the lengths of a pair's sides, where those of the whole set are made equally long.
_MAX_RATIO = 3.0
#: Characters by which a short sentence's translation may be longer than any ratio: "Yes." and "Yes, I will."
_SLACK = 10
_SAMPLE = 2_000


def read(spark: SparkSession, config: BitextConfig) -> DataFrame:
    """Every pair of the sets: `set`, `number`, languages and texts of the sides, and why a pair alone is dropped.

    One task reads a set. Lazy: a SourceError about a file comes out of the job that uses the table.
    """
    sets = list(config.sets.items())
    return spark.range(0, len(sets), 1, max(1, len(sets))).mapInArrow(_task(sets), _SCHEMA)


def clean(pairs: DataFrame) -> DataFrame:
    """The same rows with every reason in `dropped`; four partitions, sorted by set and number in each.

    Of pairs with the same two sides, in either direction, the first is kept.
    """
    good = F.col("dropped").isNull()
    source, target = F.length("source"), F.length("target")
    longer = pairs.where(good).groupBy("set").agg((F.sum(source) / F.sum(target)).alias("longer"))
    scaled = target * F.col("longer")
    unlike = F.greatest(source, scaled) > F.lit(_MAX_RATIO) * F.least(source, scaled) + _SLACK
    judged = pairs.join(F.broadcast(longer), "set", "left").withColumn(
        "dropped", F.when(good & unlike, F.lit("length_ratio")).otherwise(F.col("dropped"))
    )
    sides = F.sort_array(F.array(*(_named(side) for side in ("source", "target"))))
    # Rows that are dropped already are each alone.
    same = Window.partitionBy(F.when(good, sides), F.when(~good, F.struct(*_ID))).orderBy(*_ID)
    again = good & (F.row_number().over(same) > 1)
    return (
        judged.withColumn("dropped", F.when(again, F.lit("duplicate")).otherwise(F.col("dropped")))
        .select(*_COLUMNS)
        .repartition(_FILES, *_ID)
        .sortWithinPartitions(*_ID)
    )


def kept(cleaned: DataFrame) -> DataFrame:
    """The pairs that were not dropped."""
    return cleaned.where(F.col("dropped").isNull()).drop("dropped")


def report(cleaned: DataFrame, config: BitextConfig) -> dict[str, Any]:
    """By set: languages, pairs in, out, and dropped by reason.

    `likeness` of the sides, and whether they are of one language.
    """
    counts: dict[str, dict[str | None, int]] = {}
    for row in cleaned.groupBy("set", "dropped").agg(F.count("*").alias("pairs")).collect():
        counts.setdefault(row["set"], {})[row["dropped"]] = row["pairs"]
    sets = {}
    for name, pairs in config.sets.items():
        numbers = counts.get(name, {})
        first = kept(cleaned).where(F.col("set") == name).orderBy("number").limit(_SAMPLE).collect()
        source, target = ([row[side] for row in first] for side in ("source", "target"))
        alike = likeness(source, target)
        languages = [two_letters(lang) for lang in pairs.languages]
        sets[name] = {
            "languages": list(pairs.languages),
            "pairs_in": sum(numbers.values()),
            "pairs_out": numbers.get(None, 0),
            "dropped": {reason: numbers[reason] for reason in REASONS if reason in numbers},
            "likeness": round(alike, 3),
            "same_language": alike > SAME_LANGUAGE or in_one_language(source, target, languages),
        }
    return sets


def _named(side: str) -> Column:
    return F.struct(F.col(f"{side}_lang").alias("lang"), F.col(side).alias("text"))


def _task(sets: list[tuple[str, BitextSet]]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(*sets[number])

    return run


def _batches(name: str, pairs: BitextSet) -> Iterator[pa.RecordBatch]:
    rows = ((name, number, *pairs.languages, *_judged(pair)) for number, pair in enumerate(read_pairs(pairs)))
    schema = pa.schema([(column, pa.int64() if column == "number" else pa.string()) for column in _COLUMNS])
    while batch := list(islice(rows, _BATCH)):
        arrays = [pa.array(values, kind) for values, kind in zip(zip(*batch, strict=True), schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _judged(pair: Pair) -> tuple[str, str, str | None]:
    """The sides, and the first of the reasons that a pair alone can give."""
    source, target = (" ".join((side or "").split()) for side in pair)
    if None in pair:
        return source, target, "missing_side"
    if "\ufffd" in source or "\ufffd" in target:
        return source, target, "not_utf8"
    if not source or not target:
        return source, target, "empty"
    return source, target, "identical" if source.casefold() == target.casefold() else None
