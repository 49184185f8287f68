"""Find exact and near duplicates in a table of texts of any size, however often one text occurs.

The copy with the smallest id stays. A near duplicate is dropped if any earlier text is similar, even a dropped one:
so one pass gives the same result in any order.
"""

from collections.abc import Iterator
from hashlib import blake2b

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, BinaryType, LongType

from contexture.text.minhash import BandHasher, jaccard
from contexture.text.quality import normalize_text

_SLICE_CHARS = 1 << 20  # hashed at a time
_BROADCAST_ROWS = 100_000  # of few columns
_BROADCAST_TEXTS = 10_000


def find_duplicates(texts: DataFrame, similarity: float) -> DataFrame:
    """Return texts that repeat an earlier one of the same language: columns id, original (an id), exact (bool).

    `texts` has id (of an ordered type), lang and text; it is read several times. Near duplicates have at least this
    Jaccard similarity of word shingles. With 1, texts may differ only in case, white space and compatible characters.
    """
    sketches = checkpoint_on_disk(_sketch_texts(texts, similarity))
    # Exact copies first: a text may occur a million times.
    groups = sketches.groupBy("lang", "digest").agg(F.min("id").alias("original"), F.count("*").alias("copies"))
    exact = checkpoint_and_broadcast(
        sketches.join(groups.where("copies > 1"), ["lang", "digest"])
        .where(F.col("id") > F.col("original"))
        .select("id", "original", F.lit(True).alias("exact"))
    )
    if similarity == 1:
        return exact
    pairs = checkpoint_on_disk(_find_candidates(sketches.join(exact, "id", "left_anti")))
    originals = texts.select(F.col("id").alias("original"), F.col("text").alias("original_text"))
    num_pairs = pairs.count()
    repeats = texts.select("id", "text").join(_hint_join(pairs, num_pairs <= _BROADCAST_ROWS), "id")
    text_pairs = originals.join(_hint_join(repeats, num_pairs <= _BROADCAST_TEXTS), "original")
    near = _filter_similar(text_pairs, similarity).groupBy("id").agg(F.min("original").alias("original"))
    return exact.unionByName(near.withColumn("exact", F.lit(False)))


def checkpoint_on_disk(frame: DataFrame) -> DataFrame:
    """Return the frame, computed once; its rows stay on the workers' disks while it is in use."""
    return frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)


def checkpoint_and_broadcast(frame: DataFrame) -> DataFrame:
    """Return the frame, computed once, with a hint for joins: broadcast it if it has few rows, else sort it.

    Spark's own estimate of bytes is too low after counts and filters: it would broadcast millions of keys.
    """
    frame = checkpoint_on_disk(frame)
    return _hint_join(frame, frame.count() <= _BROADCAST_ROWS)


def _hint_join(frame: DataFrame, is_small: bool) -> DataFrame:
    """Return the frame with a hint for joins: broadcast it if it is small, else sort and merge."""
    return F.broadcast(frame) if is_small else frame.hint("merge")


def _find_candidates(texts: DataFrame) -> DataFrame:
    """Return candidate pairs (id, original) of near duplicates: each text with two earlier texts of the same band.

    These are the first text of the band and the previous one. A band of n texts gives 2n pairs, not n².
    """
    keys = texts.select("lang", "id", F.explode("bands").alias("key"))
    keys = keys.select("id", F.xxhash64("lang", "key").alias("key"))
    # Nearly all keys occur once. Counting them is far faster than sorting texts by them.
    shared = checkpoint_and_broadcast(keys.groupBy("key").count().where("count > 1").select("key"))
    band = Window.partitionBy("key").orderBy("id")
    earlier = F.array(F.first("id").over(band.rowsBetween(Window.unboundedPreceding, 0)), F.lag("id").over(band))
    return (
        keys.join(shared, "key")
        .select("id", earlier.alias("earlier"))
        .select("id", F.explode("earlier").alias("original"))
        .where(F.col("original") < F.col("id"))
        .distinct()
    )


def _sketch_texts(texts: DataFrame, similarity: float) -> DataFrame:
    """Return id, lang, digest (of the normalized text) and MinHash bands (keys; none for a text without words)."""
    schema = texts.select("id", "lang").schema.add("digest", BinaryType()).add("bands", ArrayType(LongType()))

    def sketch_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield id, lang, digest and bands of each text."""
        bands = BandHasher(similarity) if similarity < 1 else None
        for batch in batches:
            rows = [normalize_text(text) for text in batch.column("text").to_pylist()]
            digests = [blake2b(row.encode("utf-8", "surrogatepass"), digest_size=16).digest() for row in rows]
            keys = _hash_bands(rows, bands) if bands else [[] for _ in rows]
            columns = [pa.array(digests, pa.binary()), pa.array(keys, pa.list_(pa.int64()))]
            yield pa.RecordBatch.from_arrays([batch.column("id"), batch.column("lang"), *columns], names=schema.names)

    return texts.select("id", "lang", "text").mapInArrow(sketch_batches, schema)


def _hash_bands(texts: list[str], bands: BandHasher) -> list[list[int]]:
    """Return the MinHash band keys of each text, computed in slices of bounded memory."""
    keys: list[list[int]] = []
    piece: list[str] = []
    size = 0
    for number, text in enumerate(texts, 1):
        piece.append(text)
        size += len(text)
        if size >= _SLICE_CHARS or number == len(texts):
            rows = iter(bands([text for text in piece if text]).tolist())
            keys += [next(rows) if text else [] for text in piece]
            piece, size = [], 0
    return keys


def _filter_similar(pairs: DataFrame, similarity: float) -> DataFrame:
    """Return id and original of the pairs (with text and original_text) that have at least this Jaccard similarity."""
    schema = pairs.select("id", "original").schema

    def filter_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield id and original of the pairs that are similar enough."""
        for batch in batches:
            texts = zip(batch.column("text").to_pylist(), batch.column("original_text").to_pylist(), strict=True)
            are_similar = pa.array([jaccard(a, b) >= similarity for a, b in texts], pa.bool_())
            yield batch.select(schema.names).filter(are_similar)

    return pairs.select(*schema.names, "text", "original_text").mapInArrow(filter_batches, schema)
