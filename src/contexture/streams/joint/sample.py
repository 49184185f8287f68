"""Sampling for Multi-Sentences in Paragraph Prediction (section 3.4): documents to examples."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.draws import shuffle_into_files
from contexture.streams.joint.config import JointConfig, JointSampling
from contexture.streams.joint.document import COUNT_NAMES, Candidate, Example, Pool, sample_document
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import read_documents, read_sentences, select_sentences

#: Easy negatives are drawn from buckets of about this many sentences.
SENTENCES_PER_BUCKET = 4096


def sample_mspp(
    documents: DataFrame, config: JointSampling, max_tokens: int, seed: int
) -> tuple[DataFrame, Observation]:
    """Sample MSPP's examples of all documents, which must be read from disk (see `tokenize_paragraphs`).

    Each document draws its easy negatives from one bucket of about `SENTENCES_PER_BUCKET` sentences of the corpus,
    chosen by hash. Only the number of buckets grows with the corpus.

    Returns:
        The examples and an observation for `count_mspp`, which has the counts once the table is written. Columns:
        `example_id`, `sentences` (k + 1 lists of token ids, s0 first, no special tokens) and `labels` (k times 0 or 1).
        The table is shuffled by `shuffle_into_files`. The same documents and seed give the same rows on any number of
        cores.
    """
    total = documents.agg(F.sum("sentence_count")).head()
    sentence_count = 0 if total is None or total[0] is None else int(total[0])
    buckets = max(1, sentence_count // SENTENCES_PER_BUCKET)
    texts = select_sentences(documents)
    keyed_documents = texts.select("*", _bucket_column(seed, buckets, "doc_id"))
    pool = _pool_rows(texts, config).withColumns(
        {"bucket": _bucket_column(seed, buckets, "doc_id", "paragraph_index", "sentence_index")}
    )
    observation = Observation("mspp")
    schema = "example_id string, sentences array<array<int>>, labels array<int>, "
    examples = (
        keyed_documents.groupBy("bucket")
        .cogroup(pool.groupBy("bucket"))
        .applyInArrow(
            _bucket_sampler(config, max_tokens, seed),
            schema + ", ".join(f"counted_{name} bigint" for name in COUNT_NAMES),
        )
        .observe(observation, *(F.sum(f"counted_{name}").alias(name) for name in COUNT_NAMES))
        .where(F.col("example_id").isNotNull())
        .select("example_id", "sentences", "labels")
    )
    return shuffle_into_files(examples, config.files, seed, "example_id"), observation


def count_mspp(observation: Observation) -> dict[str, int]:
    """Return the counts `COUNT_NAMES` of an observation. Blocks until the examples are written."""
    counts = observation.get
    return {name: int(counts.get(name) or 0) for name in COUNT_NAMES}


def _bucket_column(seed: int, buckets: int, *columns: str) -> Column:
    """Return the column `bucket`: a hash of `columns` in 0 … buckets−1."""
    return F.pmod(F.xxhash64(F.lit(seed), *columns), F.lit(buckets)).alias("bucket")


def _pool_rows(texts: DataFrame, config: JointSampling) -> DataFrame:
    """Return one row per sentence: doc_id, paragraph_index, sentence_index, sentence and following (or null)."""
    paragraphs = texts.select("doc_id", "paragraph_indices", F.posexplode("sentences").alias("paragraph", "sentences"))
    rows = paragraphs.select(
        "doc_id",
        F.get("paragraph_indices", F.col("paragraph")).alias("paragraph_index"),
        "sentences",
        F.posexplode("sentences").alias("sentence_index", "sentence"),
    )
    needs_following = F.lit(config.candidate_sentences == 2)
    following = F.when(needs_following, F.get("sentences", F.col("sentence_index") + 1))
    return rows.withColumn("following", following).drop("sentences")


def _bucket_sampler(config: JointSampling, max_tokens: int, seed: int) -> Callable[[pa.Table, pa.Table], pa.Table]:
    """Return a function that samples the examples of a bucket's documents, with easy negatives from its sentences."""

    def sample_bucket(documents: pa.Table, sentences: pa.Table) -> pa.Table:
        pool = _read_pool(sentences, max_tokens)
        examples: list[Example] = []
        counts: Counter[str] = Counter()
        for document in read_documents(documents, max_tokens):
            sampled, counted = sample_document(document, pool, config, max_tokens, seed)
            examples += sampled
            counts += counted
        return _to_table(examples, counts)

    return sample_bucket


def _read_pool(table: pa.Table, max_tokens: int) -> Pool:
    """Convert rows of `_pool_rows` to a pool of candidates sorted by document."""
    if table.num_rows == 0:
        return Pool([], [])
    table = table.sort_by([(name, "ascending") for name in ("doc_id", "paragraph_index", "sentence_index")])
    sentences = read_sentences(table.column("sentence").combine_chunks(), max_tokens)
    following = read_sentences(table.column("following").combine_chunks(), max_tokens)
    candidates = [Candidate(sentence, after or None) for sentence, after in zip(sentences, following, strict=True)]
    return Pool(table.column("doc_id").to_pylist(), candidates)


def _to_table(examples: list[Example], counts: Counter[str]) -> pa.Table:
    """Return the examples as rows, followed by one row with the counts."""
    columns: dict[str, pa.Array] = {
        "example_id": pa.array([*(example.example_id for example in examples), None], pa.string()),
        "sentences": pa.array([*(example.sentences for example in examples), None], pa.list_(pa.list_(pa.int32()))),
        "labels": pa.array([*(example.labels for example in examples), None], pa.list_(pa.int32())),
    }
    for name in COUNT_NAMES:
        columns[f"counted_{name}"] = pa.array([None] * len(examples) + [counts[name]], pa.int64())
    return pa.table(columns)


def tables(config: JointConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define MSPP's table of examples and its counts."""

    def make_examples(documents: DataFrame) -> tuple[DataFrame, Observation]:
        return sample_mspp(documents, config.sampling, config.max_tokens, seed)

    def read_counts(observation: Observation, *_: Any) -> dict[str, int]:
        """Return the counts of `count_mspp`; ValueError without examples."""
        counts = count_mspp(observation)
        if not counts["examples"]:
            raise ValueError(f"no example could be sampled from this corpus: {counts}; add text with longer paragraphs")
        return counts

    return ExampleTables([ExampleTable("joint", make_examples, ("documents",), observed=True)], read_counts)
