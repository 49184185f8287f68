"""Tables of parallel sentences on Spark, with the reason of each dropped pair.

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
from contexture.text.language_codes import two_letter_code
from contexture.text.languages import is_same_language, trigram_similarity

#: Reasons to drop a pair, in the order of their checks; the first that applies counts.
REASONS = ("missing_side", "not_utf8", "empty", "identical", "length_ratio", "duplicate")
#: Sides with a higher `trigram_similarity` are in one language, or in two dialects.
MAX_SIMILARITY = 0.95

_COLUMNS = ("set", "number", "source_lang", "target_lang", "source", "target", "dropped")
_SCHEMA = ", ".join(f"{name} {'bigint' if name == 'number' else 'string'}" for name in _COLUMNS)
_ID_COLUMNS = ("set", "number")
_BATCH_ROWS = 4096
_NUM_FILES = 4  # of the table
#: Of the two sides' lengths, after scaling the sides of the whole set to the same length.
_MAX_LENGTH_RATIO = 3.0
#: Characters that a translation may exceed the ratio by: "Yes." and "Yes, I will."
_SLACK_CHARS = 10
_SAMPLE_PAIRS = 2_000


def read_sets(spark: SparkSession, config: BitextConfig) -> DataFrame:
    """Return a table of all pairs: `set`, `number`, languages, texts, and `dropped`, if one pair shows the reason.

    One task reads one set. Lazy: the job that uses the table raises the SourceError of a faulty file.
    """
    sets = list(config.sets.items())
    return spark.range(0, len(sets), 1, max(1, len(sets))).mapInArrow(_make_set_reader(sets), _SCHEMA)


def mark_dropped_pairs(pairs: DataFrame) -> DataFrame:
    """Set `dropped` to the first reason to drop each pair; four partitions, each sorted by set and number.

    The first of several pairs with the same two sides is kept, also if their directions differ.
    """
    is_kept = F.col("dropped").isNull()
    source, target = F.length("source"), F.length("target")
    length_ratios = pairs.where(is_kept).groupBy("set").agg((F.sum(source) / F.sum(target)).alias("longer"))
    scaled = target * F.col("longer")
    lengths_differ = F.greatest(source, scaled) > F.lit(_MAX_LENGTH_RATIO) * F.least(source, scaled) + _SLACK_CHARS
    judged = pairs.join(F.broadcast(length_ratios), "set", "left").withColumn(
        "dropped", F.when(is_kept & lengths_differ, F.lit("length_ratio")).otherwise(F.col("dropped"))
    )
    sides = F.sort_array(F.array(*(_side_struct(side) for side in ("source", "target"))))
    # Each row that is already dropped has a partition for itself.
    copies = Window.partitionBy(F.when(is_kept, sides), F.when(~is_kept, F.struct(*_ID_COLUMNS))).orderBy(*_ID_COLUMNS)
    is_duplicate = is_kept & (F.row_number().over(copies) > 1)
    return (
        judged.withColumn("dropped", F.when(is_duplicate, F.lit("duplicate")).otherwise(F.col("dropped")))
        .select(*_COLUMNS)
        .repartition(_NUM_FILES, *_ID_COLUMNS)
        .sortWithinPartitions(*_ID_COLUMNS)
    )


def select_kept(cleaned: DataFrame) -> DataFrame:
    """Return the pairs that were not dropped."""
    return cleaned.where(F.col("dropped").isNull()).drop("dropped")


def count_pairs(cleaned: DataFrame, config: BitextConfig) -> dict[str, Any]:
    """Return by set: languages, pairs in and out, pairs dropped by reason, and how similar the languages look.

    `likeness` is the trigram similarity of the two sides. `same_language`: whether they seem to be in one language.
    """
    counts: dict[str, dict[str | None, int]] = {}
    for row in cleaned.groupBy("set", "dropped").agg(F.count("*").alias("pairs")).collect():
        counts.setdefault(row["set"], {})[row["dropped"]] = row["pairs"]
    sets = {}
    for name, pairs in config.sets.items():
        numbers = counts.get(name, {})
        sample = select_kept(cleaned).where(F.col("set") == name).orderBy("number").limit(_SAMPLE_PAIRS).collect()
        source, target = ([row[side] for row in sample] for side in ("source", "target"))
        similarity = trigram_similarity(source, target)
        languages = [two_letter_code(lang) for lang in pairs.languages]
        sets[name] = {
            "languages": list(pairs.languages),
            "pairs_in": sum(numbers.values()),
            "pairs_out": numbers.get(None, 0),
            "dropped": {reason: numbers[reason] for reason in REASONS if reason in numbers},
            "likeness": round(similarity, 3),
            "same_language": similarity > MAX_SIMILARITY or is_same_language(source, target, languages),
        }
    return sets


def _side_struct(side: str) -> Column:
    """Return a column of structs (language, text) for a side: "source" or "target"."""
    return F.struct(F.col(f"{side}_lang").alias("lang"), F.col(side).alias("text"))


def _make_set_reader(
    sets: list[tuple[str, BitextSet]],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that reads the sets whose numbers it gets."""

    def read_numbered_sets(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the pairs of the sets whose numbers are in the batches."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _read_batches(*sets[number])

    return read_numbered_sets


def _read_batches(name: str, pairs: BitextSet) -> Iterator[pa.RecordBatch]:
    """Yield the pairs of a set as Arrow batches with the columns of the table."""
    rows = ((name, number, *pairs.languages, *_judge_pair(pair)) for number, pair in enumerate(read_pairs(pairs)))
    schema = pa.schema([(column, pa.int64() if column == "number" else pa.string()) for column in _COLUMNS])
    while batch := list(islice(rows, _BATCH_ROWS)):
        arrays = [pa.array(values, kind) for values, kind in zip(zip(*batch, strict=True), schema.types, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _judge_pair(pair: Pair) -> tuple[str, str, str | None]:
    """Return both sides with single spaces, and the first reason to drop the pair that needs no other pair, or None."""
    source, target = (" ".join((side or "").split()) for side in pair)
    if None in pair:
        return source, target, "missing_side"
    if "\ufffd" in source or "\ufffd" in target:
        return source, target, "not_utf8"
    if not source or not target:
        return source, target, "empty"
    return source, target, "identical" if source.casefold() == target.casefold() else None
