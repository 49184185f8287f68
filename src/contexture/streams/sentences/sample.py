"""Sentences in the order of the corpus (Quick-Thoughts, section 4.3): the documents table to one row a sentence."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.sentences.config import ContiguousConfig, SentencesConfig
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import sentences_alone


def contiguous_sentences(documents: DataFrame, max_words: int, files: int, seed: int) -> DataFrame:
    """One row a sentence: `document`, `position` in it from 0, and `tokens`, cut at `max_words`.

    Documents follow one another in an order drawn from the seed, each with all its sentences in one of so many files;
    the files in the order of their names, and their rows in theirs, are the corpus. A document of one sentence, which
    has no neighbour, is left out. The same documents and seed give the same rows on any number of cores.
    """
    drawn = F.xxhash64(F.lit(seed), "doc_id")
    sentences = F.flatten(F.col("sentences"))
    flat = sentences_alone(documents).select("doc_id", sentences.alias("sentences")).where(F.size("sentences") > 1)
    return (
        flat.withColumn("drawn", drawn)
        .repartition(files, "doc_id")
        .sortWithinPartitions("drawn", "doc_id")
        .select(F.col("doc_id").alias("document"), F.posexplode("sentences").alias("position", "words"))
        .select("document", "position", F.slice("words", 1, max_words).alias("tokens"))
    )


def count_sentences(documents: DataFrame, max_words: int) -> dict[str, int]:
    """Documents, sentences and words of `contiguous_sentences`, and what was left out or cut."""
    sentences = F.flatten(F.col("sentences"))
    table = sentences_alone(documents).select(sentences.alias("sentences"))
    alone, size = F.size("sentences") < 2, F.size("sentences")
    lengths = F.transform("sentences", F.size)

    def total(values: Column) -> Column:
        return F.aggregate(values, F.lit(0).cast("bigint"), lambda sum_, one: sum_ + one)

    kept = F.when(~alone, lengths).otherwise(F.array().cast("array<int>"))
    row = table.agg(
        F.sum((~alone).cast("bigint")).alias("documents"),
        F.sum(F.when(alone, 0).otherwise(size)).alias("sentences"),
        F.sum(total(F.transform(kept, lambda n: F.least(n, F.lit(max_words)).cast("bigint")))).alias("words"),
        F.sum(total(F.transform(kept, lambda n: (n > max_words).cast("bigint")))).alias("sentences_cut"),
        F.sum((alone & (size > 0)).cast("bigint")).alias("documents_of_one_sentence"),
    ).head()
    return {name: int(value or 0) for name, value in row.asDict().items()} if row else {}


def tables(config: ContiguousConfig | SentencesConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """The table of sentences, cut to what encoders read, and its counts."""

    def sample(documents: DataFrame) -> DataFrame:
        return contiguous_sentences(documents, lengths.document, config.files, seed)

    def count(examples: DataFrame, documents: DataFrame) -> dict[str, int]:
        counts = count_sentences(documents, lengths.document)
        if not counts["sentences"]:
            raise ValueError(f"no document of the corpus has two sentences, hence none has a neighbour: {counts}")
        return counts

    return ExampleTables([ExampleTable("sentences", sample, ("documents",))], count)
