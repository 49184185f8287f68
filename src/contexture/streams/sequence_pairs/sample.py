"""Examples for CMLM (section 3): the documents table to pairs of consecutive sequences."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.draws import drawn
from contexture.streams.languages import COPY, language_of, smoothed
from contexture.streams.packing import pack_sentences
from contexture.streams.sequence_pairs.config import SequencePairsConfig, SequenceSampling
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import offsets, sentences_alone

#: Tokens of `[CLS] sequence [SEP]` beside the sequence.
OVERHEAD = 2


def sequence_pairs(documents: DataFrame, config: SequenceSampling, max_tokens: int, seed: int) -> DataFrame:
    """One row for every two consecutive sequences of a document: `first` and `second`, lists of token ids.

    A sequence is one sentence, or as many whole ones as `max_tokens` hold, special tokens included, whatever paragraphs
    and sections they are of; one longer than that is cut. `document` is its page, `position` the place of the pair on
    it. Which of the two comes first is a function of the seed and both. The table is shuffled: `config.files`
    partitions by a hash of the page and the position, each in an order drawn from the seed. Of several languages, with
    `config.smoothing`, pairs are repeated or left out. The same documents and
    seed give the same rows on any number of cores.
    """
    place = ("document", "position")
    swapped = drawn(seed, "swap", *place) < F.lit(config.swap_probability)
    one, other = F.col("before"), F.col("after")
    pairs = (
        sentences_alone(documents)
        .select("doc_id", F.flatten("sentences").alias("sentences"))
        .mapInArrow(
            _pairer(config.unit, max_tokens - OVERHEAD),
            "document string, position int, before array<int>, after array<int>",
        )
        .select(
            *place,
            F.when(swapped, other).otherwise(one).alias("first"),
            F.when(swapped, one).otherwise(other).alias("second"),
        )
    )
    key: tuple[str, ...] = place
    if config.smoothing < 1:
        pairs, key = smoothed(pairs, "document", place, config.smoothing, seed), (*place, COPY)
    shuffled = pairs.repartition(config.files, *key).sortWithinPartitions(F.xxhash64(F.lit(seed), *key), *key)
    return shuffled.drop(COPY)


def count_pairs(pairs: DataFrame, documents: DataFrame, max_tokens: int) -> dict[str, int]:
    """Pairs, of several languages also by language, their pages and tokens; pages of one sequence; sentences cut."""
    found = (
        pairs.groupBy(language_of("document").alias("language"))
        .agg(
            F.count("*").alias("pairs"),
            F.count_distinct("document").alias("documents"),
            F.sum(F.size("first") + F.size("second")).alias("tokens"),
        )
        .orderBy("language")
        .collect()
    )
    sentences = F.flatten(F.col("sentences"))
    cut = F.size(F.filter(sentences, lambda one: F.size(one) > max_tokens - OVERHEAD))
    every = sentences_alone(documents).agg(F.count("*").alias("documents"), F.sum(cut).alias("cut")).head()
    assert every is not None
    in_all = {name: sum(row[name] for row in found) for name in ("pairs", "documents", "tokens")}
    return {
        **in_all,
        **{f"pairs_{row['language']}": row["pairs"] for row in found if len(found) > 1},
        "documents_of_one_sequence": every["documents"] - in_all["documents"],
        "sentences_cut": int(every["cut"] or 0),
    }


def tables(config: SequencePairsConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """The table of pairs, of sequences as long as documents, and its counts."""

    def sample(documents: DataFrame) -> DataFrame:
        return sequence_pairs(documents, config.sampling, lengths.document, seed)

    def count(examples: DataFrame, documents: DataFrame) -> dict[str, int]:
        counts = count_pairs(examples, documents, lengths.document)
        if not counts["pairs"]:
            raise ValueError(
                f"no document of the corpus gives two sequences of {lengths.document} tokens: {counts}; lower "
                "lengths.document, or set the stream's sampling.unit to sentences"
            )
        return counts

    return ExampleTables([ExampleTable("sequence_pairs", sample, ("documents",))], count)


def _pairer(unit: str, room: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pair(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _pairs(batch, unit, room)

    return pair


def _pairs(batch: pa.RecordBatch, unit: str, room: int) -> pa.RecordBatch:
    """Pages to pairs. A sequence is a run of the batch's sentences, hence of its tokens, which stay where they are."""
    sentences = batch.column("sentences")
    bounds, token_bounds = sentences.offsets.to_numpy(), sentences.values.offsets.to_numpy()
    lengths = np.diff(token_bounds)
    starts: list[int] = []
    ends: list[int] = []
    pages: list[int] = []
    positions: list[int] = []
    for page, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        counts = [1] * (end - begin) if unit == "sentences" else pack_sentences(lengths[begin:end].tolist(), room)
        cuts = token_bounds[begin + np.cumsum([0, *counts])]
        starts += cuts[:-1].tolist()
        ends += np.minimum(cuts[1:], cuts[:-1] + room).tolist()
        pages += [page] * len(counts)
        positions += range(len(counts))
    page_of = np.array(pages, np.int64)
    left = np.flatnonzero(page_of[1:] == page_of[:-1]) if len(page_of) else page_of
    tokens = sentences.values.values
    return pa.RecordBatch.from_pydict(
        {
            "document": batch.column("doc_id").take(pa.array(page_of[left])),
            "position": pa.array(np.array(positions, np.int32)[left]),
            "before": _slices(tokens, starts, ends, left),
            "after": _slices(tokens, starts, ends, left + 1),
        }
    )


def _slices(tokens: pa.Array, starts: list[int], ends: list[int], rows: np.ndarray) -> pa.ListArray:
    """Tokens start … end−1 of the chosen runs, a list each."""
    first, lengths = np.array(starts, np.int64)[rows], (np.array(ends, np.int64) - np.array(starts, np.int64))[rows]
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) - np.repeat(before - first, lengths)
    return pa.ListArray.from_arrays(offsets(np.concatenate([[0], np.cumsum(lengths)])), tokens.take(pa.array(places)))
