"""Exact and near duplicates in a table of texts, of any size and however often one text occurs.

The copy with the smallest id stays. A near duplicate is dropped if any earlier text is similar, dropped itself or not:
one pass gives the same answer in any order.
"""

from collections.abc import Iterator
from hashlib import blake2b

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, LongType

from contexture.text.minhash import Bands, jaccard
from contexture.text.quality import normalized

_SLICE_CHARACTERS = 1 << 20  # that are hashed at a time, however long the texts
_FEW = 100_000  # rows of a few columns: every worker can have them all
_FEW_TEXTS = 10_000


def find_duplicates(texts: DataFrame, similarity: float) -> DataFrame:
    """Texts that repeat an earlier one of the same language: columns id, original (an id), exact (bool).

    `texts` has id (of a type with an order), lang and text; it is read several times. Near duplicates have at least
    this Jaccard similarity of word shingles; with 1, texts must be equal but for case, white space and compatible
    characters.
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
    """The frame, marked to be broadcast in a join if it has few rows, else to be sorted.

    Spark itself estimates the bytes of rows that were counted or filtered: millions of keys pass for a few MB.
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
    schema = texts.select("id", "lang").schema.add("digest", BinaryType()).add("bands", ArrayType(LongType()))

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
    for number, text in enumerate(texts, 1):
        piece.append(text)
        size += len(text)
        if size >= _SLICE_CHARACTERS or number == len(texts):
            rows = iter(bands([text for text in piece if text]).tolist())
            keys += [next(rows) if text else [] for text in piece]
            piece, size = [], 0
    return keys


def _similar(pairs: DataFrame, similarity: float) -> DataFrame:
    """Columns id and original of the pairs (with text and original_text) that are similar indeed."""
    schema = pairs.select("id", "original").schema

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            texts = zip(batch.column("text").to_pylist(), batch.column("original_text").to_pylist(), strict=True)
            are_similar = pa.array([jaccard(a, b) >= similarity for a, b in texts], pa.bool_())
            yield batch.select(schema.names).filter(are_similar)

    return pairs.select(*schema.names, "text", "original_text").mapInArrow(run, schema)
