"""Examples for Cross-Thought (section 3.1): the documents table to samples of contiguous text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.sampling.examples import ExampleTable, ExampleTables
from contexture.sampling.tokens import sentences_alone
from contexture.systems.cross_thought.config import SampleSampling, ShortSequencesConfig

Ids = npt.NDArray[np.int32]
COLUMNS = "sample string, documents int, pieces array<array<int>>"


def sequence_samples(documents: DataFrame, config: SampleSampling, seed: int) -> DataFrame:
    """One row for every sample: `pieces` of contiguous text, lists of token ids, and how many `documents` they are of.

    Cut into sequences of `config.tokens` each, the last of a piece perhaps shorter, the pieces of a sample are
    `config.sequences` sequences; the last sample of a file may have fewer. A piece is of one document, whole or as much
    of it as there is room for, so that short documents share a sample; where boundaries are crossed, a sample is one
    piece. Documents follow one another in an order drawn from the seed, in one of `config.files` by a hash of their
    names; `sample` is the name of the first and the token at which the sample begins. The table is shuffled, like that
    of other objectives. The same documents and seed give the same rows on any number of cores.
    """
    tokens, drawn = F.flatten(F.flatten("sentences")), F.xxhash64(F.lit(seed), "doc_id")
    return (
        sentences_alone(documents)
        .select("doc_id", tokens.alias("tokens"), drawn.alias("drawn"))
        .repartition(config.files, "doc_id")
        .sortWithinPartitions("drawn", "doc_id")
        .select("doc_id", "tokens")
        .mapInArrow(_sampler(config), COLUMNS)
        .repartition(config.files, "sample")
        .sortWithinPartitions(F.xxhash64(F.lit(seed), "sample"), "sample")
    )


def count_samples(samples: DataFrame, documents: DataFrame, config: SampleSampling) -> dict[str, int]:
    """Samples, their sequences, documents and tokens; those that are padded, and samples of several documents."""
    each = F.transform("pieces", lambda piece: F.ceil(F.size(piece) / F.lit(config.tokens)).cast("int"))
    short = F.filter("pieces", lambda piece: F.size(piece) % config.tokens != 0)
    sizes = samples.select(
        F.aggregate(each, F.lit(0), lambda sum_, one: sum_ + one).alias("sequences"),
        F.size(F.flatten("pieces")).alias("tokens"),
        F.size(short).alias("short"),
        (F.col("documents") > 1).cast("int").alias("shared"),
    )
    found = sizes.agg(
        F.count("*").alias("samples"),
        F.sum("sequences").alias("sequences"),
        F.max("sequences").alias("most_sequences"),
        F.sum("tokens").alias("tokens"),
        F.sum((F.col("sequences") < config.sequences).cast("int")).alias("samples_padded"),
        F.sum("short").alias("sequences_padded"),
        F.sum("shared").alias("samples_of_several_documents"),
    ).head()
    longest = sentences_alone(documents).agg(
        F.count("*").alias("documents"), F.max(F.size(F.flatten(F.flatten("sentences")))).alias("longest_document")
    )
    every = longest.head()
    assert found is not None and every is not None
    return {name: int(value or 0) for name, value in (every.asDict() | found.asDict()).items()}


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
        if most < sampling.sequences:
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
