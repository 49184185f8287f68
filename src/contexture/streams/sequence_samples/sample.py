"""Examples for Cross-Thought (section 3.1): the documents table to samples of sequences."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.sequence_samples.config import SampleSampling, ShortSequencesConfig
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import sentences_alone

Ids = npt.NDArray[np.int32]
#: Samples of runs that are written together.
SAMPLES_AT_ONCE = 256
COLUMNS = "sample string, documents int, pieces array<array<int>>"


def sequence_samples(documents: DataFrame, config: SampleSampling, seed: int) -> DataFrame:
    """One row for every sample: `pieces` of text, lists of token ids, and how many `documents` they are of.

    Cut into sequences of `config.tokens` each, the last of a piece perhaps shorter, the pieces of a sample are at most
    `config.sequences` sequences. `sample` is the name of the document of the first piece and the token where that
    begins. The table is shuffled, like that of other objectives. The same documents and seed give the same rows on any
    number of cores.

    - `run_length: null`: contiguous text. Documents follow one another in an order drawn from the seed, in one of
      `config.files` by a hash of their names. A piece is of one document, whole or as much of it as there is room for,
      so that short documents share a sample; if boundaries are crossed, a sample is one piece. The last sample of a
      file may have fewer sequences.
    - `run_length: R`: a piece is a run of R consecutive sequences of a document, its last run perhaps shorter. A sample
      has `config.sequences / R` pieces, each of another document; see `group_runs`.
    """
    texts = sentences_alone(documents).select("doc_id", F.flatten(F.flatten("sentences")).alias("tokens"))
    if config.run_length is None:
        drawn = F.xxhash64(F.lit(seed), "doc_id")
        rows = texts.withColumn("drawn", drawn).repartition(config.files, "doc_id")
        rows = rows.sortWithinPartitions("drawn", "doc_id").select("doc_id", "tokens")
        samples = rows.mapInArrow(_sampler(config), COLUMNS)
    else:
        runs = _runs(texts, config.run_length * config.tokens)
        drawn = F.xxhash64(F.lit(seed), "doc_id", "start")
        rows = runs.withColumn("drawn", drawn).repartition(config.files, "drawn")
        rows = rows.sortWithinPartitions("drawn", "doc_id", "start").select("doc_id", "start", "tokens")
        samples = rows.mapInArrow(_grouper(config.sequences // config.run_length), COLUMNS)
    return samples.repartition(config.files, "sample").sortWithinPartitions(F.xxhash64(F.lit(seed), "sample"), "sample")


def _runs(texts: DataFrame, length: int) -> DataFrame:
    """Documents → their runs of `length` tokens, with the token where each begins."""
    starts = F.explode(F.sequence(F.lit(0), F.size("tokens") - 1, F.lit(length)))
    return texts.select("doc_id", starts.alias("start"), "tokens").withColumn(
        "tokens", F.slice("tokens", F.col("start") + 1, F.lit(length))
    )


def _grouper(documents: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Runs → samples of so many documents each."""

    def group(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        runs = (
            (name, start, tokens)
            for batch in batches
            for name, start, tokens in zip(
                batch.column("doc_id").to_pylist(),
                batch.column("start").to_pylist(),
                _lists(batch.column("tokens")),
                strict=True,
            )
        )
        samples = (sample.row() for sample in group_runs(runs, documents))
        while rows := list(islice(samples, SAMPLES_AT_ONCE)):
            yield _table(rows)

    return group


def group_runs(runs: Iterable[tuple[str, int, Ids]], documents: int) -> Iterator["_Sample"]:
    """Samples of runs (document, start, tokens), each of `documents` runs of different documents.

    A run joins the first sample that has room and none of its document. What is left at the end, because most runs are
    of few documents, is in samples of fewer documents.
    """
    samples: deque[_Sample] = deque()
    first = 0  # the number of samples[0]; samples with smaller numbers are complete
    following: dict[str, int] = {}  # document → the sample after the last one that has a run of it
    for name, start, tokens in runs:
        number = max(following.get(name, 0), first)
        while number - first < len(samples) and len(samples[number - first].pieces) == documents:
            number += 1
        if number - first == len(samples):
            samples.append(_Sample(name=f"{name}@{start}"))
        sample = samples[number - first]
        sample.names.add(name)
        sample.pieces.append(tokens)
        following[name] = number + 1
        while samples and len(samples[0].pieces) == documents:
            yield samples.popleft()
            first += 1
    yield from samples


def count_samples(samples: DataFrame, documents: DataFrame, config: SampleSampling) -> dict[str, int]:
    """Samples, their sequences, documents and tokens; those that are padded; and documents per sample."""
    each = F.transform("pieces", lambda piece: F.ceil(F.size(piece) / F.lit(config.tokens)).cast("int"))
    short = F.filter("pieces", lambda piece: F.size(piece) % config.tokens != 0)
    sizes = samples.select(
        F.aggregate(each, F.lit(0), lambda sum_, one: sum_ + one).alias("sequences"),
        F.size(F.flatten("pieces")).alias("tokens"),
        F.size(short).alias("short"),
        "documents",
    )
    found = sizes.agg(
        F.count("*").alias("samples"),
        F.sum("sequences").alias("sequences"),
        F.max("sequences").alias("most_sequences"),
        F.sum("tokens").alias("tokens"),
        F.sum((F.col("documents" if config.run_length else "sequences") < _full(config)).cast("int")).alias(
            "samples_padded"
        ),
        F.sum("short").alias("sequences_padded"),
        F.min("documents").alias("documents_per_sample_min"),
        F.median("documents").alias("documents_per_sample_median"),
        F.max("documents").alias("documents_per_sample_max"),
    ).head()
    longest = sentences_alone(documents).agg(
        F.count("*").alias("documents"), F.max(F.size(F.flatten(F.flatten("sentences")))).alias("longest_document")
    )
    every = longest.head()
    assert found is not None and every is not None
    return {name: int(value or 0) for name, value in (every.asDict() | found.asDict()).items()}


def _full(config: SampleSampling) -> int:
    """Documents of a full sample of runs; sequences of one of contiguous text."""
    return config.sequences // (config.run_length or 1)


def tables(config: ShortSequencesConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """The table of samples and its counts."""
    sampling = config.sampling

    def sample(documents: DataFrame) -> DataFrame:
        return sequence_samples(documents, sampling, seed)

    def count(examples: DataFrame, documents: DataFrame) -> dict[str, int]:
        counts = count_samples(examples, documents, sampling)
        longest, most = counts.pop("longest_document"), counts.pop("most_sequences")
        if sampling.boundaries == "documents" and longest < sampling.tokens:
            raise ValueError(
                f"no document fills a sequence of {sampling.tokens} tokens, the longest has {longest}: lower "
                f"sampling.tokens to at most {longest}, or set sampling.boundaries to cross"
            )
        if sampling.run_length is not None and counts["documents_per_sample_max"] < _full(sampling):
            most = counts["documents_per_sample_max"]
            raise ValueError(
                f"no sample has runs of {_full(sampling)} documents, the fullest has {most}: lower sampling.sequences "
                f"to at most {most * sampling.run_length}, or sampling.files"
            )
        if sampling.run_length is None and most < sampling.sequences:
            raise ValueError(
                f"the corpus does not fill a sample of {sampling.sequences} sequences, the fullest of its "
                f"{sampling.files} files has {most}: lower sampling.sequences to at most {most}, or sampling.files"
            )
        return counts

    return ExampleTables([ExampleTable("sequence_samples", sample, ("documents",))], count)


@dataclass
class _Sample:
    """A sample that is being filled."""

    name: str = ""
    names: set[str] = field(default_factory=set)
    pieces: list[Ids] = field(default_factory=list)
    used: int = 0

    def row(self) -> tuple[str, int, list[Ids]]:
        """As a row of the table."""
        return self.name, len(self.names), self.pieces


def _sampler(config: SampleSampling) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def sample(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        open_one = _Sample()
        for batch in batches:
            rows: list[tuple[str, int, list[Ids]]] = []
            for name, tokens in zip(batch.column("doc_id").to_pylist(), _lists(batch.column("tokens")), strict=True):
                open_one = _add(open_one, name, tokens, config, rows)
            if rows:
                yield _table(rows)
        if open_one.pieces:
            yield _table([open_one.row()])

    return sample


def _add(
    sample: _Sample, name: str, tokens: Ids, config: SampleSampling, rows: list[tuple[str, int, list[Ids]]]
) -> _Sample:
    """Add a document to the open sample; what is full goes to `rows`. Returns the sample that is open then."""
    begin = 0
    while begin < len(tokens):
        if not sample.pieces:
            sample.name = f"{name}@{begin}"
        crossing = config.boundaries == "cross"
        room = (
            config.sequences * config.tokens - sample.used
            if crossing
            else ((config.sequences - sample.used) * config.tokens)
        )
        piece = tokens[begin : begin + room]
        begin += len(piece)
        sample.names.add(name)
        if crossing:
            sample.pieces = [np.concatenate([*sample.pieces, piece])]
            sample.used += len(piece)
        else:
            sample.pieces.append(piece)
            sample.used += -(-len(piece) // config.tokens)
        if sample.used == config.sequences * (config.tokens if crossing else 1):
            rows.append(sample.row())
            sample = _Sample()
    return sample


def _lists(column: pa.ListArray) -> Iterator[Ids]:
    values, bounds = column.values.to_numpy(), column.offsets.to_numpy()
    for begin, end in pairwise(bounds):
        yield values[begin:end]


def _table(rows: list[tuple[str, int, list[Ids]]]) -> pa.RecordBatch:
    names, documents, pieces = zip(*rows, strict=True)
    inner = [piece for of_sample in pieces for piece in of_sample]
    lists = pa.ListArray.from_arrays(_bounds(list(map(len, inner))), pa.array(np.concatenate(inner), pa.int32()))
    return pa.RecordBatch.from_pydict(
        {
            "sample": pa.array(names),
            "documents": pa.array(documents, pa.int32()),
            "pieces": pa.ListArray.from_arrays(_bounds(list(map(len, pieces))), lists),
        }
    )


def _bounds(lengths: list[int]) -> pa.Array:
    return pa.array(np.cumsum([0, *lengths]), pa.int32())
