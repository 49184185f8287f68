"""The Spark side of Cross-Thought: contiguous samples, whatever the partitions, and no token lost."""

from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from contexture.encoders.config import Lengths
from contexture.sampling.tokens import sentences_alone, tokenize_paragraphs
from contexture.systems.cross_thought.batches import cut_sequences
from contexture.systems.cross_thought.config import SampleSampling, SequenceSamplesConfig
from contexture.systems.cross_thought.examples import _sampler, count_samples, sequence_samples, tables
from tests.sampling.make import WORDS, Made, settings, table

FILES = 3


def texts_of(documents: DataFrame) -> dict[str, list[int]]:
    """Page → its tokens."""
    return {
        row["doc_id"]: [token for paragraph in row["sentences"] for sentence in paragraph for token in sentence]
        for row in sentences_alone(documents).collect()
    }


@pytest.mark.parametrize("boundaries", ["documents", "cross"])
def test_samples_hold_all_text_once_and_in_order(boundaries: str, documents: DataFrame) -> None:
    config = SampleSampling(sequences=4, tokens=7, boundaries=boundaries, files=FILES)  # type: ignore[arg-type]
    rows = sequence_samples(documents, config, 5).collect()
    texts = texts_of(documents)
    assert len({row["sample"] for row in rows}) == len(rows) > 5
    assert sum(len(piece) for row in rows for piece in row["pieces"]) == sum(map(len, texts.values()))
    full = 0
    for row in rows:
        name, begin = row["sample"].rsplit("@", 1)
        first = list(row["pieces"][0])
        there = texts[name][int(begin) :]
        assert first[: len(there)] == there[: len(first)] and first
        sequences = sum(-(-len(piece) // 7) for piece in row["pieces"])
        assert sequences <= 4
        full += sequences == 4
        if boundaries == "documents":
            assert row["documents"] == len(row["pieces"])
            assert all(list(piece) == texts_with(texts, list(piece)) for piece in row["pieces"][1:])
        else:
            assert len(row["pieces"]) == 1
    assert full >= len(rows) - FILES
    assert any(row["documents"] > 1 for row in rows) and any(row["documents"] == 1 for row in rows)


def texts_with(texts: dict[str, list[int]], piece: list[int]) -> list[int]:
    """The piece, if a page begins with it: what follows in a sample begins at the top of its page."""
    return next((text[: len(piece)] for text in texts.values() if text[: len(piece)] == piece), [])


def test_samples_do_not_depend_on_partitions_and_cores_but_on_the_seed(documents: DataFrame) -> None:
    found, config = [], SampleSampling(sequences=4, tokens=7, files=FILES)
    for partitions, shuffles, adaptive in ((1, "1", "true"), (3, "7", "false"), (7, "2", "true")):
        with settings(
            documents.sparkSession, spark__sql__shuffle__partitions=shuffles, spark__sql__adaptive__enabled=adaptive
        ):
            samples = sequence_samples(documents.repartition(partitions, "sentence_count"), config, 11)
            assert samples.rdd.getNumPartitions() == FILES
            found.append(samples.collect())
    assert found[0] == found[1] == found[2]
    other = sequence_samples(documents, config, 12).collect()
    assert other != found[0]


def test_pages_by_hand(spark: SparkSession, vocabulary: Path) -> None:
    """One token a word; samples of three sequences of two."""
    made = [Made("en:1", 0, ["amber birch cedar", "delta ember"]), Made("en:2", 0, ["fjord"])]
    made.append(Made("en:3", 0, [" ".join(WORDS[:7])]))
    documents = tokenize_paragraphs(table(spark, made), vocabulary).cache()
    samples = sequence_samples(documents, SampleSampling(sequences=3, tokens=2, files=1), 0).cache()
    # 3 + 1 + 4 sequences fill two samples and two thirds of a third, in whatever order the pages come.
    counts = count_samples(samples, documents, SampleSampling(sequences=3, tokens=2, files=1))
    assert {name: counts[name] for name in ("documents", "samples", "sequences", "tokens", "samples_padded")} == {
        "documents": 3, "samples": 3, "sequences": 8, "tokens": 13, "samples_padded": 1
    }  # fmt: skip
    assert counts["sequences_padded"] == 3 and counts["samples_of_several_documents"] >= 1


def test_samples_of_a_file_by_hand() -> None:
    """Pages of 5, 1 and 7 tokens in this order, in batches of whatever size."""
    pages = {"a": [1, 2, 3, 4, 5], "b": [6], "c": [11, 12, 13, 14, 15, 16, 17]}

    def run(boundaries: str, at_once: int) -> list[tuple[str, int, list[list[int]]]]:
        config = SampleSampling(sequences=3, tokens=2, boundaries=boundaries)  # type: ignore[arg-type]
        names = list(pages)
        batches = [
            pa.RecordBatch.from_pydict(
                {
                    "doc_id": pa.array(names[i : i + at_once]),
                    "tokens": pa.array([pages[name] for name in names[i : i + at_once]], pa.list_(pa.int32())),
                }
            )
            for i in range(0, 3, at_once)
        ]
        made = pa.Table.from_batches(_sampler(config)(iter(batches)))
        return [(row["sample"], row["documents"], row["pieces"]) for row in made.to_pylist()]

    for at_once in (1, 2, 3):
        assert run("documents", at_once) == [
            ("a@0", 1, [[1, 2, 3, 4, 5]]),
            ("b@0", 2, [[6], [11, 12, 13, 14]]),
            ("c@4", 1, [[15, 16, 17]]),
        ]
        assert run("cross", at_once) == [
            ("a@0", 2, [[1, 2, 3, 4, 5, 6]]),
            ("c@0", 1, [[11, 12, 13, 14, 15, 16]]),
            ("c@6", 1, [[17]]),
        ]


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=5), st.integers(1, 4))
def test_sequences_are_the_pieces_cut_to_length(sizes: list[list[int]], length: int) -> None:
    tokens = iter(range(1000))
    samples = [[[next(tokens) for _ in range(size)] for size in of_sample] for of_sample in sizes]
    found, sample, piece = cut_sequences(pa.array(samples, pa.list_(pa.list_(pa.int32()))), length)
    expected = [
        (number, one[i : i + length])
        for number, of_sample in enumerate(samples)
        for one in of_sample
        for i in range(0, len(one), length)
    ]
    assert found.lengths[:, 0].tolist() == [len(one) for _, one in expected]
    assert found.tokens.tolist() == list(chain.from_iterable(one for _, one in expected))
    assert sample.tolist() == [number for number, _ in expected]
    assert piece.max() + 1 == sum(map(len, sizes)) and (np.diff(piece) >= 0).all()


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        (
            {"tokens": 9},
            r"no document fills a sequence of 9 tokens, the longest has 5: lower sampling\.tokens to at mo",
        ),
        ({"tokens": 2, "sequences": 9}, r"does not fill a sample of 9 sequences, the fullest of its 1 files has 4: "),
    ],
)
def test_samples_that_the_corpus_does_not_fill_are_refused_with_what_fits(
    sampling: dict[str, int], said: str, spark: SparkSession, vocabulary: Path
) -> None:
    made = [Made("en:1", 0, ["amber birch cedar", "delta ember"]), Made("en:2", 0, ["fjord"])]
    documents = tokenize_paragraphs(table(spark, made), vocabulary).cache()
    config = SequenceSamplesConfig(sampling=SampleSampling(**sampling, files=1))
    every = tables(config, Lengths(query=64, document=64), 0)
    with pytest.raises(ValueError, match=said):
        every.count(every.tables[0].make(documents).cache(), documents)
