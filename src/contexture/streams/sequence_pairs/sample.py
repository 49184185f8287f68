"""Sampling for CMLM (section 3): documents to pairs of consecutive sequences."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.draws import shuffle_into_files, uniform_draw
from contexture.streams.languages import COPY, document_language, resample_languages
from contexture.streams.packing import pack_sentences
from contexture.streams.sequence_pairs.config import SequencePairsConfig, SequenceSampling
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import list_array, select_sentences

Ints = npt.NDArray[np.int64]
#: Special tokens of `[CLS] sequence [SEP]`.
NUM_SPECIAL_TOKENS = 2
#: Probability that the sequences of a pair are swapped.
SWAP_PROBABILITY = 0.5


def sequence_pairs(documents: DataFrame, config: SequenceSampling, max_tokens: int, seed: int) -> DataFrame:
    """Return a shuffled table with one row for every two consecutive sequences of a document.

    Columns: `document`, `position` of the pair in it, and `first` and `second`, lists of token ids. A sequence is one
    sentence, or as many whole sentences as fit into `max_tokens`, special tokens included, across paragraphs and
    sections. Longer sentences are cut. Half of the pairs, chosen by seed, document and position, are swapped, so that
    the previous sequence is predicted, too. `config.smoothing` resamples languages. The table is shuffled by
    `shuffle_into_files`. The same documents and seed give the same rows on any number of cores.
    """

    def pair_sequences(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (_pair_sequences(batch, config.unit, max_tokens - NUM_SPECIAL_TOKENS) for batch in batches)

    key: tuple[str, ...] = ("document", "position")
    swapped = uniform_draw(seed, "swap", *key) < SWAP_PROBABILITY
    sequences = select_sentences(documents).select("doc_id", F.flatten("sentences").alias("sentences"))
    pairs = sequences.mapInArrow(
        pair_sequences, "document string, position int, before array<int>, after array<int>"
    ).select(
        *key,
        F.when(swapped, F.col("after")).otherwise(F.col("before")).alias("first"),
        F.when(swapped, F.col("before")).otherwise(F.col("after")).alias("second"),
    )
    if config.smoothing < 1:
        pairs, key = resample_languages(pairs, "document", key, config.smoothing, seed), (*key, COPY)
    return shuffle_into_files(pairs, config.files, seed, *key).drop(COPY)


def count_pairs(pairs: DataFrame, documents: DataFrame, max_tokens: int) -> dict[str, int]:
    """Count pairs (also by language), documents, tokens, documents with one sequence, and cut sentences."""
    rows = (
        pairs.groupBy(document_language("document").alias("language"))
        .agg(
            F.count("*").alias("pairs"),
            F.count_distinct("document").alias("documents"),
            F.sum(F.size("first") + F.size("second")).alias("tokens"),
        )
        .orderBy("language")
        .collect()
    )
    sentences = F.flatten(F.col("sentences"))
    cut = F.size(F.filter(sentences, lambda sentence: F.size(sentence) > max_tokens - NUM_SPECIAL_TOKENS))
    pages = select_sentences(documents).agg(F.count("*").alias("documents"), F.sum(cut).alias("cut")).collect()[0]
    totals = {name: sum(row[name] for row in rows) for name in ("pairs", "documents", "tokens")}
    return {
        **totals,
        **{f"pairs_{row['language']}": row["pairs"] for row in rows if len(rows) > 1},
        "documents_of_one_sequence": pages["documents"] - totals["documents"],
        "sentences_cut": int(pages["cut"] or 0),
    }


def tables(config: SequencePairsConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define the table of pairs of consecutive sequences, up to the length of a document, and its counts."""

    def make_pairs(documents: DataFrame) -> DataFrame:
        return sequence_pairs(documents, config.sampling, lengths.document, seed)

    def count_examples(examples: DataFrame, documents: DataFrame) -> dict[str, int]:
        """Return the counts of `count_pairs`; ValueError without pairs."""
        counts = count_pairs(examples, documents, lengths.document)
        if not counts["pairs"]:
            raise ValueError(
                f"no document of the corpus has two sequences of {lengths.document} tokens: {counts}; lower "
                "lengths.document, or set the stream's sampling.unit to sentences"
            )
        return counts

    return ExampleTables([ExampleTable("sequence_pairs", make_pairs, ("documents",))], count_examples)


def _pair_sequences(batch: pa.RecordBatch, unit: str, room: int) -> pa.RecordBatch:
    """Return the pairs of consecutive sequences of each document in a batch; `room` is the limit in tokens."""
    sentences = batch.column("sentences")
    bounds, token_bounds = sentences.offsets.to_numpy(), sentences.values.offsets.to_numpy()
    lengths = np.diff(token_bounds)
    starts, ends, pages, positions = ([np.zeros(0, np.int64)] for _ in range(4))
    for number, (begin, finish) in enumerate(pairwise(bounds.tolist())):
        counts = [1] * (finish - begin) if unit == "sentences" else pack_sentences(lengths[begin:finish].tolist(), room)
        cuts = token_bounds[begin + np.cumsum([0, *counts])].astype(np.int64)
        starts.append(cuts[:-1])
        ends.append(np.minimum(cuts[1:], cuts[:-1] + room))
        pages.append(np.full(len(counts), number))
        positions.append(np.arange(len(counts)))
    page, start, end = np.concatenate(pages), np.concatenate(starts), np.concatenate(ends)
    left = np.flatnonzero(page[1:] == page[:-1])
    return pa.RecordBatch.from_pydict(
        {
            "document": batch.column("doc_id").take(pa.array(page[left])),
            "position": pa.array(np.concatenate(positions)[left].astype(np.int32)),
            "before": _slice_tokens(sentences.values.values, start[left], end[left]),
            "after": _slice_tokens(sentences.values.values, start[left + 1], end[left + 1]),
        }
    )


def _slice_tokens(tokens: pa.Array, starts: Ints, ends: Ints) -> pa.ListArray:
    """Return tokens start … end−1 of each range as a list."""
    bounds = np.concatenate([[0], np.cumsum(ends - starts)])
    indices = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], ends - starts)
    return list_array(bounds, tokens.take(pa.array(indices)))
