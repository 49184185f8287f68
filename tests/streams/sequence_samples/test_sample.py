"""Sampling of Cross-Thought's samples with Spark."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.sequence_samples.batches import cut_samples, frequent_tokens, shared_tokens
from contexture.streams.sequence_samples.config import SampleSampling, SequenceSamplesConfig, ShortSequencesConfig
from contexture.streams.sequence_samples.sample import (
    Sample,
    contiguous_samples,
    count_samples,
    group_runs,
    sequence_samples,
    tables,
)
from contexture.streams.tokens import select_sentences, tokenize_paragraphs
from tests.streams.make import WORDS, MadeParagraph, collect_for_any_partitions, paragraphs_table

FILES = 3


def texts_of(documents: DataFrame) -> dict[str, list[int]]:
    """Return document → tokens."""
    return {
        row["doc_id"]: [token for paragraph in row["sentences"] for sentence in paragraph for token in sentence]
        for row in select_sentences(documents).collect()
    }


@pytest.mark.parametrize("boundaries", ["documents", "cross"])
def test_samples_follow_the_drawn_order_of_documents(boundaries: Any, documents: DataFrame) -> None:
    config = SampleSampling(sequences=4, tokens=7, boundaries=boundaries, files=1)
    texts = texts_of(documents)
    order = [row["doc_id"] for row in documents.orderBy(F.xxhash64(F.lit(5), "doc_id")).select("doc_id").collect()]
    expected = unpack_samples(contiguous_samples(((name, ids(texts[name])) for name in order), config))
    rows = sequence_samples(documents, config, 5).collect()
    assert sorted(map(tuple, rows)) == sorted(expected) and len(rows) > 5
    assert len({name for name, *_ in expected}) == len(expected)


def test_samples_depend_on_the_seed_but_not_on_partitions(documents: DataFrame) -> None:
    config = SampleSampling(sequences=4, tokens=7, files=FILES)

    def sample(partitions: int) -> DataFrame:
        return sequence_samples(documents.repartition(partitions, "sentence_count"), config, 11)

    rows = collect_for_any_partitions(documents.sparkSession, FILES, sample)
    assert rows != sequence_samples(documents, config, 12).collect()


def test_pages_by_hand(spark: SparkSession, vocabulary: Path) -> None:
    """One token per word; samples of three sequences of two tokens."""
    made = [MadeParagraph("en:1", 0, ["amber birch cedar", "delta ember"]), MadeParagraph("en:2", 0, ["fjord"])]
    made.append(MadeParagraph("en:3", 0, [" ".join(WORDS[:7])]))
    documents = tokenize_paragraphs(paragraphs_table(spark, made), vocabulary).cache()
    samples = sequence_samples(documents, SampleSampling(sequences=3, tokens=2, files=1), 0).cache()
    # In any order, 3 + 1 + 4 sequences fill two samples and two thirds of another.
    counts = count_samples(samples, documents, SampleSampling(sequences=3, tokens=2, files=1))
    assert {name: counts[name] for name in ("documents", "samples", "sequences", "tokens", "samples_padded")} == {
        "documents": 3, "samples": 3, "sequences": 8, "tokens": 13, "samples_padded": 1
    }  # fmt: skip
    assert counts["sequences_padded"] == 3 and counts["documents_per_sample_max"] >= 2


def ids(tokens: list[int]) -> np.ndarray:
    return np.array(tokens, np.int32)


def unpack_samples(samples: Iterable[Sample]) -> list[tuple[str, int, list[list[int]]]]:
    """Return name, number of documents and pieces of each sample."""
    return [(filled.name, len(filled.documents), [piece.tolist() for piece in filled.pieces]) for filled in samples]


PAGES = st.lists(st.integers(0, 20), max_size=6)


@given(PAGES, st.integers(1, 4), st.integers(1, 5))
def test_contiguous_samples_are_those_of_a_slow_loop(sizes: list[int], sequences: int, length: int) -> None:
    """With boundaries, pieces are documents; with crossed boundaries, all text is one piece."""
    texts = {f"d{number}": [100 * number + token for token in range(size)] for number, size in enumerate(sizes)}
    tokens = [(name, start, token) for name, text in texts.items() for start, token in enumerate(text)]
    cells = [
        [(name, start, token) for start, token in enumerate(text)][begin : begin + length]
        for name, text in texts.items()
        for begin in range(0, len(text), length)
    ]
    crossed = [tokens[i : i + length] for i in range(0, len(tokens), length)]
    for boundaries, parts in (("documents", cells), ("cross", crossed)):
        config = SampleSampling(sequences=sequences, tokens=length, boundaries=boundaries)  # type: ignore[arg-type]
        expected = []
        for sample in (parts[i : i + sequences] for i in range(0, len(parts), sequences)):
            text = list(chain.from_iterable(sample))
            by_page = {name: [token for other, _, token in text if other == name] for name, *_ in text}
            pieces = list(by_page.values()) if boundaries == "documents" else [[token for *_, token in text]]
            expected.append((f"{text[0][0]}@{text[0][1]}", len(by_page), pieces))
        rows = ((name, ids(text)) for name, text in texts.items())
        assert unpack_samples(contiguous_samples(rows, config)) == expected


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=5), st.integers(1, 4))
def test_pieces_are_cut_into_sequences(sizes: list[list[int]], length: int) -> None:
    tokens = iter(range(1000))
    samples = [[[next(tokens) for _ in range(size)] for size in of_sample] for of_sample in sizes]
    config = ShortSequencesConfig(sampling=SampleSampling(sequences=8, tokens=length))
    cut = cut_samples(pa.array(samples, pa.list_(pa.list_(pa.int32()))), config)
    sequences, sample, piece = cut.sequences, cut.samples, cut.documents
    expected = [
        (number, part[i : i + length])
        for number, of_sample in enumerate(samples)
        for part in of_sample
        for i in range(0, len(part), length)
    ]
    assert sequences.lengths[:, 0].tolist() == [len(part) for _, part in expected]
    assert sequences.tokens.tolist() == list(chain.from_iterable(part for _, part in expected))
    assert sample.tolist() == [number for number, _ in expected]
    assert piece.max() + 1 == sum(map(len, sizes)) and (np.diff(piece) >= 0).all()


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 4))
def test_group_runs_uses_each_run_once_and_a_document_once_per_sample(owners: list[int], documents: int) -> None:
    runs = [(str(owner), ids([start]), start) for start, owner in enumerate(owners)]
    samples = list(group_runs(runs, documents))
    names = [(sample, owners[int(piece[0])]) for sample, filled in enumerate(samples) for piece in filled.pieces]
    assert sorted(int(piece[0]) for filled in samples for piece in filled.pieces) == list(range(len(owners)))
    assert len(set(names)) == len(names)
    sizes = [len(filled.pieces) for filled in samples]
    assert max(sizes, default=1) <= documents and min(sizes, default=1) >= 1
    # An incomplete sample shares a document with each later sample, so they cannot be merged.
    for first, filled in enumerate(samples):
        for other in samples[first + 1 :]:
            assert len(filled.pieces) == documents or other.documents & filled.documents


def test_runs_of_a_file_by_hand() -> None:
    """Documents a, b and c have three, two and one runs; samples have two documents."""
    runs = [("a", 1, 0), ("a", 2, 8), ("b", 3, 0), ("a", 4, 16), ("c", 5, 0), ("b", 6, 8)]
    assert unpack_samples(group_runs([(name, ids([token]), start) for name, token, start in runs], 2)) == [
        ("a@0", 2, [[1], [3]]),
        ("a@8", 2, [[2], [5]]),
        ("a@16", 2, [[4], [6]]),
    ]


def test_runs_are_of_different_documents_and_do_not_depend_on_partitions(documents: DataFrame) -> None:
    config = SampleSampling(sequences=6, tokens=7, run_length=2, files=FILES)
    texts = texts_of(documents)

    def sample(partitions: int) -> DataFrame:
        return sequence_samples(documents.repartition(partitions, "sentence_count"), config, 5)

    rows = collect_for_any_partitions(documents.sparkSession, FILES, sample)
    assert rows != sequence_samples(documents, config, 6).collect()
    assert max(row["documents"] for row in rows) == 3 and len({row["sample"] for row in rows}) == len(rows)
    assert all(row["documents"] == len(row["pieces"]) for row in rows)
    cut = [text[start : start + 14] for text in texts.values() for start in range(0, len(text), 14)]
    assert sorted(list(piece) for row in rows for piece in row["pieces"]) == sorted(cut)
    counts = count_samples(sequence_samples(documents, config, 5), documents, config)
    per_sample = sorted(row["documents"] for row in rows)
    assert counts["documents_per_sample_max"] == 3 and counts["documents_per_sample_min"] == per_sample[0]
    assert counts["samples_padded"] == sum(number < 3 for number in per_sample)


TOKENS = st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=7), min_size=1, max_size=6)


@given(st.lists(TOKENS, min_size=1, max_size=4), st.integers(1, 3), st.sampled_from([None, 1, 2, 3]))
def test_shared_tokens_are_those_of_a_slow_loop(
    samples: list[list[list[int]]], length: int, documents: int | None
) -> None:
    """Tokens 0 and 1 are frequent."""
    sampling = SampleSampling(sequences=6, tokens=length, run_length=1)
    config = SequenceSamplesConfig(sampling=sampling, documents=documents)
    cut = cut_samples(pa.array(samples, pa.list_(pa.list_(pa.int32()))), config)
    size = documents or 6
    parts = [filled[i : i + size] for filled in samples for i in range(0, len(filled), size)]
    sequences = [[p[i : i + length] for p in part for i in range(0, len(p), length)] for part in parts]
    assert cut.samples.tolist() == [number for number, part in enumerate(sequences) for _ in part]
    expected = [
        token > 1 and any(token in other for j, other in enumerate(part) if j != i)
        for part in sequences
        for i, sequence in enumerate(part)
        for token in sequence
    ]
    assert shared_tokens(cut, np.arange(9) < 2).tolist() == expected


class Pieces:
    """Rows of samples in memory."""

    def __init__(self, samples: list[list[list[int]]]) -> None:
        self.samples, self.rows = samples, len(samples)

    def take(self, start: int, count: int) -> pa.Table:
        pieces = pa.array(self.samples[start : start + count], pa.list_(pa.list_(pa.int32())))
        return pa.table({"pieces": pieces})


def test_frequent_tokens_are_counted_in_sampled_sequences() -> None:
    """Of 100 sequences of two tokens, token 1 is in all, token 2 in three, each other in at most two."""
    samples = [[[1, 2 if number < 3 else 10 + number // 2]] for number in range(100)]
    frequent = frequent_tokens(Pieces(samples), SampleSampling(sequences=1, tokens=2), 70)
    assert np.flatnonzero(frequent).tolist() == [1, 2]


def test_invalid_settings_raise_an_error() -> None:
    with pytest.raises(ValidationError, match="run_length 3 must divide sequences 8"):
        SampleSampling(sequences=8, run_length=3)
    with pytest.raises(ValidationError, match="a run belongs to one document: set boundaries to documents"):
        SampleSampling(sequences=8, run_length=2, boundaries="cross")
    with pytest.raises(ValidationError, match=r"documents needs samples of runs: set sampling\.run_length"):
        SequenceSamplesConfig(documents=2)
    with pytest.raises(ValidationError, match="documents 3 must divide the 4 documents of a sample"):
        SequenceSamplesConfig(sampling=SampleSampling(sequences=8, run_length=2), documents=3)


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (
            {"tokens": 9},
            r"no document fills a sequence of 9 tokens, the longest has 5; lower sampling\.tokens to at mo",
        ),
        (
            {"tokens": 2, "sequences": 8, "run_length": 1},
            r"no sample has runs of 8 documents, the fullest has 2; lower sampling\.sequences to at most 2",
        ),
        ({"tokens": 2, "sequences": 9}, r"does not fill a sample of 9 sequences, the fullest of its 1 files has 4; "),
    ],
)
def test_samples_larger_than_the_corpus_raise_an_error(
    sampling: dict[str, int], message: str, spark: SparkSession, vocabulary: Path
) -> None:
    made = [MadeParagraph("en:1", 0, ["amber birch cedar", "delta ember"]), MadeParagraph("en:2", 0, ["fjord"])]
    documents = tokenize_paragraphs(paragraphs_table(spark, made), vocabulary).cache()
    config = SequenceSamplesConfig(sampling=SampleSampling(**sampling, files=1))
    tables_made = tables(config, Lengths(query=64, document=64), 0)
    with pytest.raises(ValueError, match=message):
        tables_made.count(tables_made.tables[0].make(documents).cache(), documents)
