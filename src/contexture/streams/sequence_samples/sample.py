"""Sampling for Cross-Thought (section 3.1): documents to samples of sequences."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.draws import shuffle_into_files
from contexture.streams.sequence_samples.config import SampleSampling, ShortSequencesConfig
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import list_array, select_sentences

Ids = npt.NDArray[np.int32]
#: Samples in a record batch.
SAMPLES_PER_BATCH = 256
SAMPLE_SCHEMA = "sample string, documents int, pieces array<array<int>>"


def sequence_samples(documents: DataFrame, config: SampleSampling, seed: int) -> DataFrame:
    """Return a shuffled table of one row per sample: `sample`, `documents` and `pieces`.

    `pieces` are lists of token ids, from a number of `documents`. Cut into sequences of `config.tokens` tokens, of
    which a piece's last may be shorter, the pieces of a sample give at most `config.sequences` sequences. `sample` is
    the document and token at which the first piece begins. The table is shuffled by `shuffle_into_files`. The same
    documents and seed give the same rows on any number of cores.

    - `run_length: null`: contiguous text. Documents are hashed into `config.files` files and ordered by the seed. A
      piece is a document or the part of it that fits, so that short documents share a sample; with crossed boundaries,
      a sample is one piece. The last sample of a file may have fewer sequences.
    - `run_length: R`: a piece is a run of R consecutive sequences of a document; its last run may be shorter. A sample
      has `config.sequences / R` pieces, each from a different document; see `group_runs`.
    """
    texts = select_sentences(documents).select("doc_id", F.flatten(F.flatten("sentences")).alias("tokens"))
    if config.run_length is None:
        ordered = shuffle_into_files(texts, config.files, seed, "doc_id")
    else:
        runs = _split_runs(texts, config.run_length * config.tokens).withColumn(
            "drawn", F.xxhash64(F.lit(seed), "doc_id", "start")
        )
        by_hash = runs.repartition(config.files, "drawn").sortWithinPartitions("drawn", "doc_id", "start")
        ordered = by_hash.select("doc_id", "tokens", "start")

    def group_into_samples(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in _read_rows(batch))
        if config.run_length is None:
            samples = contiguous_samples(rows, config)
        else:
            samples = group_runs(rows, config.sequences // config.run_length)
        while block := list(islice(samples, SAMPLES_PER_BATCH)):
            yield _to_batch(block)

    return shuffle_into_files(ordered.mapInArrow(group_into_samples, SAMPLE_SCHEMA), config.files, seed, "sample")


def _split_runs(texts: DataFrame, length: int) -> DataFrame:
    """Split documents into runs of `length` tokens, one row each, with the token at which each begins."""
    starts = F.explode(F.sequence(F.lit(0), F.size("tokens") - 1, F.lit(length)))
    return texts.select("doc_id", starts.alias("start"), "tokens").withColumn(
        "tokens", F.slice("tokens", F.col("start") + 1, F.lit(length))
    )


@dataclass
class Sample:
    """A sample that is being filled: its name, the names of its documents, and its pieces of text."""

    name: str
    documents: set[str] = field(default_factory=set)
    pieces: list[Ids] = field(default_factory=list)


def contiguous_samples(rows: Iterable[tuple[str, Ids]], config: SampleSampling) -> Iterator[Sample]:
    """Yield samples that consecutive documents (name, tokens) fill one after the other. The last may not be full."""
    crossing = config.boundaries == "cross"
    room = config.sequences * config.tokens
    sample = Sample("")
    for name, tokens in rows:
        begin = 0
        while begin < len(tokens):
            if not sample.pieces:
                sample.name = f"{name}@{begin}"
            piece = tokens[begin : begin + room]
            begin += len(piece)
            sample.documents.add(name)
            sample.pieces.append(piece)
            # Unless boundaries are crossed, a piece's last sequence counts as a full one.
            room -= len(piece) if crossing else -(-len(piece) // config.tokens) * config.tokens
            if not room:
                yield _join_pieces(sample) if crossing else sample
                sample, room = Sample(""), config.sequences * config.tokens
    if sample.pieces:
        yield _join_pieces(sample) if crossing else sample


def _join_pieces(sample: Sample) -> Sample:
    """Return the sample with its pieces joined into a single one."""
    return replace(sample, pieces=[np.concatenate(sample.pieces)])


def group_runs(runs: Iterable[tuple[str, Ids, int]], documents: int) -> Iterator[Sample]:
    """Yield samples of `documents` runs (document, tokens, start), each from a different document.

    A run joins the first sample that has room and no run of its document. The last samples may have fewer documents.
    """
    samples: deque[Sample] = deque()
    first = 0  # number of samples[0]; samples with smaller numbers are complete
    following: dict[str, int] = {}  # document → sample after the last one with a run of it
    for name, tokens, start in runs:
        number = max(following.get(name, 0), first)
        while number - first < len(samples) and len(samples[number - first].pieces) == documents:
            number += 1
        if number - first == len(samples):
            samples.append(Sample(f"{name}@{start}"))
        sample = samples[number - first]
        sample.documents.add(name)
        sample.pieces.append(tokens)
        following[name] = number + 1
        while samples and len(samples[0].pieces) == documents:
            yield samples.popleft()
            first += 1
    yield from samples


def count_samples(samples: DataFrame, documents: DataFrame, config: SampleSampling) -> dict[str, int]:
    """Count samples, sequences, documents and tokens, padded samples and sequences, and documents per sample."""
    rows = samples.selectExpr(
        "documents",
        f"aggregate(pieces, 0, (total, piece) -> total + int(ceil(size(piece) / {config.tokens}))) AS sequences",
        "size(flatten(pieces)) AS tokens",
        f"size(filter(pieces, piece -> size(piece) % {config.tokens} != 0)) AS short",
    )
    counts = rows.selectExpr(
        "count(*) AS samples",
        "sum(sequences) AS sequences",
        "max(sequences) AS most_sequences",
        "sum(tokens) AS tokens",
        f"count_if({'documents' if config.run_length else 'sequences'} < {_full_size(config)}) AS samples_padded",
        "sum(short) AS sequences_padded",
        "min(documents) AS documents_per_sample_min",
        "median(documents) AS documents_per_sample_median",
        "max(documents) AS documents_per_sample_max",
    ).collect()[0]
    document_counts = (
        select_sentences(documents)
        .selectExpr("count(*) AS documents", "max(size(flatten(flatten(sentences)))) AS longest_document")
        .collect()[0]
    )
    return {name: int(value or 0) for name, value in (document_counts.asDict() | counts.asDict()).items()}


def _full_size(config: SampleSampling) -> int:
    """Number of documents in a full sample of runs, or of sequences in a full sample of contiguous text."""
    return config.sequences // (config.run_length or 1)


def tables(config: ShortSequencesConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define Cross-Thought's table of samples and its counts."""
    sampling = config.sampling

    def make_samples(documents: DataFrame) -> DataFrame:
        return sequence_samples(documents, sampling, seed)

    def count_examples(examples: DataFrame, documents: DataFrame) -> dict[str, int]:
        """Return the counts of `count_samples`; ValueError if no sample or sequence is full."""
        counts = count_samples(examples, documents, sampling)
        longest, fullest = counts.pop("longest_document"), counts.pop("most_sequences")
        if sampling.boundaries == "documents" and longest < sampling.tokens:
            raise ValueError(
                f"no document fills a sequence of {sampling.tokens} tokens, the longest has {longest}; lower "
                f"sampling.tokens to at most {longest}, or set sampling.boundaries to cross"
            )
        if sampling.run_length is not None and counts["documents_per_sample_max"] < _full_size(sampling):
            fullest = counts["documents_per_sample_max"]
            raise ValueError(
                f"no sample has runs of {_full_size(sampling)} documents, the fullest has {fullest}; lower "
                f"sampling.sequences to at most {fullest * sampling.run_length}, or sampling.files"
            )
        if sampling.run_length is None and fullest < sampling.sequences:
            raise ValueError(
                f"the corpus does not fill a sample of {sampling.sequences} sequences, the fullest of its "
                f"{sampling.files} files has {fullest}; lower sampling.sequences to at most "
                f"{fullest}, or sampling.files"
            )
        return counts

    return ExampleTables([ExampleTable("sequence_samples", make_samples, ("documents",))], count_examples)


def _read_rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Return the rows of an Arrow batch: `doc_id`, `tokens` and, for runs, `start`."""
    tokens = batch.column("tokens")
    values = tokens.values.to_numpy()
    pieces = [values[begin:end] for begin, end in pairwise(tokens.offsets.to_numpy())]
    starts = [batch.column(name).to_pylist() for name in batch.schema.names if name not in ("doc_id", "tokens")]
    return zip(batch.column("doc_id").to_pylist(), pieces, *starts, strict=True)


def _to_batch(samples: Sequence[Sample]) -> pa.RecordBatch:
    """Return an Arrow batch with the columns `sample`, `documents` (their number) and `pieces`."""
    pieces = [piece for sample in samples for piece in sample.pieces]
    bounds = np.cumsum([0, *map(len, pieces)]), np.cumsum([0, *(len(sample.pieces) for sample in samples)])
    return pa.RecordBatch.from_pydict(
        {
            "sample": pa.array([sample.name for sample in samples]),
            "documents": pa.array([len(sample.documents) for sample in samples], pa.int32()),
            "pieces": list_array(bounds[1], list_array(bounds[0], np.concatenate(pieces))),
        }
    )
