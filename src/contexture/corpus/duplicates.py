"""Exact and near duplicates in a table of texts, of any size and however often one text occurs.

The first copy stays: the one with the smallest id. A near duplicate is dropped where an earlier text is similar to
it, dropped itself or not: one pass gives the same answer in any order. (Groups of connected texts would drop texts
that have nothing in common with the one kept; to keep the greatest set of dissimilar texts would need a pass for
each link of a chain.)
"""

from collections.abc import Iterator
from hashlib import blake2b

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, LongType, StructField, StructType

from contexture.text.minhash import Bands, jaccard
from contexture.text.quality import normalized

_SLICE = 1 << 20  # characters: what is hashed at a time, however long the texts
_FEW = 100_000  # rows of a few columns: every worker can have them all
_FEW_TEXTS = 10_000


def find_duplicates(texts: DataFrame, similarity: float) -> DataFrame:
    """Texts that repeat an earlier one of the same language: columns id, original (an id), exact (whether it is one).

    Args:
        texts: columns id (of a type that can be ordered), lang, text. Read several times: nothing costly before it.
        similarity: texts count as near duplicates from this Jaccard similarity of word shingles on; with 1, only
            texts that are the same but for case, white space and compatible characters are duplicates.
    """
    sketches = on_disk(_sketched(texts, similarity))
    # Counted before anything is compared: a text may occur a million times.
    groups = sketches.groupBy("lang", "digest").agg(F.min("id").alias("original"), F.count("*").alias("copies"))
    exact = few(
        on_disk(
            sketches.join(groups.where("copies > 1"), ["lang", "digest"])
            .where(F.col("id") > F.col("original"))
            .select("id", "original", F.lit(True).alias("exact"))
        )
    )
    if similarity == 1:
        return exact
    pairs = on_disk(_candidates(sketches.join(exact, "id", "left_anti")))
    first = texts.select(F.col("id").alias("original"), F.col("text").alias("original_text"))
    both = first.join(few(texts.select("id", "text").join(few(pairs), "id"), pairs.count() <= _FEW_TEXTS), "original")
    near = _similar(both, similarity).groupBy("id").agg(F.min("original").alias("original"))
    return exact.unionByName(near.withColumn("exact", F.lit(False)))


def on_disk(frame: DataFrame) -> DataFrame:
    """The frame computed once, its rows on the workers' disks for as long as it is in use."""
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def few(frame: DataFrame, is_few: bool | None = None) -> DataFrame:
    """The frame, marked to be sent to every worker in a join if it has few rows: the other side then stays in place.

    With more rows both sides are sorted. Left to itself, Spark sends what it takes for small, and of rows that were
    counted or filtered it guesses the bytes: millions of keys pass for a few MB.
    """
    if is_few is None:
        is_few = frame.count() <= _FEW
    return F.broadcast(frame) if is_few else frame.hint("merge")


def _candidates(texts: DataFrame) -> DataFrame:
    """Pairs (id, original) of texts that share a band: each text with the band's first and with the one before it.

    So a band that n texts share gives 2n pairs, not n².
    """
    keys = texts.select("lang", "id", F.explode("bands").alias("key"))
    keys = keys.select("id", F.xxhash64("lang", "key").alias("key"))
    # Nearly every key occurs once, and to count them is far quicker than to sort texts by them.
    shared = few(on_disk(keys.groupBy("key").count().where("count > 1").select("key")))
    band = Window.partitionBy("key").orderBy("id")
    earlier = F.array(F.first("id").over(band.rowsBetween(Window.unboundedPreceding, 0)), F.lag("id").over(band))
    return (
        keys.join(shared, "key")
        .select("id", earlier.alias("earlier"))
        .select("id", F.explode("earlier").alias("original"))
        .where(F.col("original") < F.col("id"))
        .distinct()
    )


def _sketched(texts: DataFrame, similarity: float) -> DataFrame:
    """Columns id, lang, digest (of the normalized text) and bands (keys; none for a text without words)."""
    schema = StructType(
        [
            *texts.select("id", "lang").schema.fields,
            StructField("digest", BinaryType()),
            StructField("bands", ArrayType(LongType())),
        ]
    )

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bands = Bands(similarity) if similarity < 1 else None
        for batch in batches:
            rows = [normalized(text) for text in batch.column("text").to_pylist()]
            digests = [blake2b(row.encode("utf-8", "surrogatepass"), digest_size=16).digest() for row in rows]
            keys = _keys(rows, bands) if bands else [[] for _ in rows]
            columns = [pa.array(digests, pa.binary()), pa.array(keys, pa.list_(pa.int64()))]
            yield pa.RecordBatch.from_arrays([batch.column("id"), batch.column("lang"), *columns], names=schema.names)

    return texts.select("id", "lang", "text").mapInArrow(run, schema)


def _keys(texts: list[str], bands: Bands) -> list[list[int]]:
    """Band keys of each text, some texts at a time, so that long ones cost no more memory than short ones."""
    keys: list[list[int]] = []
    piece: list[str] = []
    size = 0
    for place, text in enumerate(texts):
        piece.append(text)
        size += len(text)
        if size >= _SLICE or place == len(texts) - 1:
            found = iter(bands([text for text in piece if text]).tolist())
            keys += [next(found) if text else [] for text in piece]
            piece, size = [], 0
    return keys


def _similar(pairs: DataFrame, similarity: float) -> DataFrame:
    """Columns id and original of the pairs (with text and original_text) that are similar indeed."""
    schema = pairs.select("id", "original").schema

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = zip(batch.column("text").to_pylist(), batch.column("original_text").to_pylist(), strict=True)
            found = pa.array([jaccard(a, b) >= similarity for a, b in texts], pa.bool_())
            yield batch.select(schema.names).filter(found)

    return pairs.select(*schema.names, "text", "original_text").mapInArrow(run, schema)
