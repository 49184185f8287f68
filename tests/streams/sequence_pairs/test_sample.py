"""Sampling of CMLM's pairs of consecutive sequences with Spark."""

from itertools import accumulate, chain, pairwise
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.packing import pack_sentences
from contexture.streams.sequence_pairs.config import SequencePairsConfig, SequenceSampling
from contexture.streams.sequence_pairs.sample import count_pairs, sequence_pairs, tables
from contexture.streams.tokens import select_sentences, tokenize_paragraphs
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import WORDS, MadeParagraph, collect_for_any_partitions, paragraphs_table

LENGTH, FILES = 22, 3


def plain_sequences(documents: DataFrame, unit: str, room: int) -> dict[str, list[list[int]]]:
    """Return document → sequences, in plain Python."""
    sequences = {}
    for row in select_sentences(documents).collect():
        sentences = [list(sentence) for paragraph in row["sentences"] for sentence in paragraph]
        counts = [1] * len(sentences) if unit == "sentences" else pack_sentences([*map(len, sentences)], room)
        ends = [0, *accumulate(counts)]
        sequences[row["doc_id"]] = [list(chain.from_iterable(sentences[a:b]))[:room] for a, b in pairwise(ends)]
    return sequences


@pytest.mark.parametrize("unit", ["packed", "sentences"])
def test_consecutive_sequences_are_paired(unit: str, documents: DataFrame) -> None:
    config = SequenceSampling(unit=unit, files=FILES)  # type: ignore[arg-type]
    rows = sequence_pairs(documents, config, LENGTH, 5).collect()
    pairs = {(row["document"], row["position"]): (list(row["first"]), list(row["second"])) for row in rows}
    assert len(pairs) == len(rows) > 20
    swapped = 0
    for document, sequences in plain_sequences(documents, unit, LENGTH - 2).items():
        for position, (left, right) in enumerate(pairwise(sequences)):
            pair = pairs.pop((document, position))
            assert pair in ((left, right), (right, left))
            swapped += pair != (left, right)
            assert all(0 < len(sequence) <= LENGTH - 2 for sequence in pair)
    assert not pairs
    assert abs(swapped / len(rows) - 0.5) < 4 * (0.25 / len(rows)) ** 0.5


def test_pairs_depend_on_the_seed_but_not_on_partitions(documents: DataFrame) -> None:
    def sample(partitions: int) -> DataFrame:
        again = documents.repartition(partitions, "sentence_count")
        return sequence_pairs(again, SequenceSampling(files=FILES), LENGTH, 11)

    rows = collect_for_any_partitions(documents.sparkSession, FILES, sample)
    other = sequence_pairs(documents, SequenceSampling(files=FILES), LENGTH, 12).collect()
    assert other != rows and len(other) == len(rows)


def test_a_page_by_hand(spark: SparkSession, vocabulary: Path) -> None:
    """One token per word; 6 minus two special tokens leave 4."""
    made = paragraphs_table(
        spark,
        [
            MadeParagraph("en:1", 0, ["amber birch", "cedar delta", "ember"]),
            MadeParagraph("en:1", 1, ["fjord grove heath"], 1),
            MadeParagraph("en:1", 2, ["inlet jetty knoll larch amber birch"], 1),
            MadeParagraph("en:2", 0, ["amber birch cedar"]),
        ],
    )
    documents = tokenize_paragraphs(made, vocabulary).cache()
    tokenizer, _ = load_tokenizer(vocabulary)
    pairs = sequence_pairs(documents, SequenceSampling(files=1), 6, 0)
    rows = sorted(pairs.collect(), key=lambda row: row["position"])
    assert [(row["document"], row["position"]) for row in rows] == [("en:1", 0), ("en:1", 1)]
    assert [{tokenizer.decode(row[name]) for name in ("first", "second")} for row in rows] == [
        {"amber birch cedar delta", "ember fjord grove heath"},
        {"ember fjord grove heath", "inlet jetty knoll larch"},
    ]
    assert count_pairs(pairs, documents, 6) == {
        "pairs": 2, "documents": 1, "tokens": 16, "documents_of_one_sequence": 1, "sentences_cut": 1
    }  # fmt: skip


def test_pairs_are_counted(spark: SparkSession, vocabulary: Path) -> None:
    lengths = [[1], [3, 12, 9], [8, 10], [2, 2, 7, 11]]
    made = [
        MadeParagraph(f"en:{page}", index, [" ".join(WORDS[:size])])
        for page, sizes in enumerate(lengths)
        for index, size in enumerate(sizes)
    ]
    documents = tokenize_paragraphs(paragraphs_table(spark, made), vocabulary).cache()
    pairs = sequence_pairs(documents, SequenceSampling(unit="sentences", files=2), 10, 3).cache()
    counts, rows = count_pairs(pairs, documents, 10), pairs.collect()
    assert counts["pairs"] == len(rows) == 2 + 1 + 3
    assert counts["documents_of_one_sequence"] == 1
    assert counts["tokens"] == sum(len(row["first"]) + len(row["second"]) for row in rows)
    assert counts["sentences_cut"] == 4


def test_a_corpus_of_single_sequences_raises_an_error(spark: SparkSession, vocabulary: Path) -> None:
    documents = tokenize_paragraphs(
        paragraphs_table(spark, [MadeParagraph("en:1", 0, ["amber birch", "cedar"])]), vocabulary
    ).cache()
    made = tables(SequencePairsConfig(), Lengths(query=64, document=64), 0)
    pairs = made.tables[0].make(documents)
    with pytest.raises(ValueError, match=r"no document .* two sequences of 64 tokens.*'documents_of_one_sequence': 1"):
        made.count(pairs, documents)
