"""Sampling of sentences in corpus order with Spark."""

import random
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.sentences.config import ContiguousConfig, SentencesConfig
from contexture.streams.sentences.sample import contiguous_sentences, count_sentences, tables
from contexture.streams.tokens import PARAGRAPH_FIELDS
from tests.streams.make import collect_for_any_partitions
from tests.streams.make import write_files as written_rows

#: A document: its paragraphs, their sentences, their words.
Texts = dict[str, list[list[list[int]]]]
#: The table as written: a row is a document, a position and words; a list of rows for each file.
Files = list[list[tuple[str, int, list[int]]]]

FILES = 3
FIELDS = ", ".join(f"{name}: {kind}" for name, kind in PARAGRAPH_FIELDS.items())
SCHEMA = f"doc_id string, title_tokens array<int>, paragraphs array<struct<{FIELDS}>>"
COUNTS = ("documents", "sentences", "words", "sentences_cut", "documents_of_one_sentence")


def texts_of(documents: DataFrame) -> Texts:
    return {row["doc_id"]: [list(p["sentences"]) for p in row["paragraphs"]] for row in documents.collect()}


def table_of(spark: SparkSession, texts: Texts) -> DataFrame:
    """Return a documents table."""
    rows: list[tuple[Any, ...]] = [
        (doc_id, [], [(number, 0, paragraph, [], []) for number, paragraph in enumerate(paragraphs)])
        for doc_id, paragraphs in texts.items()
    ]
    return spark.createDataFrame(rows, SCHEMA)


def read_files(sentences: DataFrame, folder: Path) -> Files:
    """Write the table. Return its rows by file, as training reads them."""
    files = written_rows(sentences, folder)
    return [[(row["document"], row["position"], row["tokens"]) for row in rows] for rows in files]


def plain_sentences(texts: Texts, max_words: int) -> tuple[dict[str, list[tuple[int, list[int]]]], dict[str, int]]:
    """Return the sentences of each document, and the counts, in plain Python."""
    rows, counts = {}, Counter(dict.fromkeys(COUNTS, 0))
    for document, paragraphs in texts.items():
        flat = [sentence for paragraph in paragraphs for sentence in paragraph]
        counts["documents_of_one_sentence"] += len(flat) == 1
        if len(flat) > 1:
            rows[document] = [(position, sentence[:max_words]) for position, sentence in enumerate(flat)]
            counts["documents"] += 1
            counts["sentences"] += len(flat)
            counts["words"] += sum(min(len(sentence), max_words) for sentence in flat)
            counts["sentences_cut"] += sum(len(sentence) > max_words for sentence in flat)
    return rows, dict(counts)


def group_documents(files: Files) -> list[tuple[str, list[tuple[int, list[int]]]]]:
    """Return documents in order. A document that is split is returned twice."""
    rows = [row for file in files for row in file]
    return [(name, [row[1:] for row in part]) for name, part in groupby(rows, key=lambda row: row[0])]


@pytest.fixture(scope="module")
def files(documents: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Files:
    return read_files(contiguous_sentences(documents, 9, FILES, 5), tmp_path_factory.mktemp("sentences") / "table")


@pytest.mark.parametrize("config", [ContiguousConfig(files=FILES), SentencesConfig(files=FILES)])
def test_the_table_does_not_depend_on_partitions(config: SentencesConfig, documents: DataFrame, files: Files) -> None:
    made = tables(config, Lengths(query=5, document=9), 5)
    (sentences,) = made.tables
    assert (sentences.name, sentences.reads, sentences.observed, made.intermediate) == (
        "sentences", ("documents",), False, (),
    )  # fmt: skip
    rows = collect_for_any_partitions(
        documents.sparkSession, FILES, lambda partitions: sentences.make(documents.repartition(partitions, "doc_id"))
    )
    assert [tuple(row) for row in rows] == [row for file in files for row in file]
    assert made.count(None, documents) == plain_sentences(texts_of(documents), 9)[1]


def test_documents_are_complete_and_in_order(documents: DataFrame, files: Files) -> None:
    texts = texts_of(documents)
    actual = group_documents(files)
    assert len({name for name, _ in actual}) == len(actual)  # none is split
    assert dict(actual) == plain_sentences(texts, 9)[0]
    assert len(files) == FILES and all(files)
    lengths = [len(words) for file in files for _, _, words in file]
    assert max(lengths) == 9 and min(lengths) < 9  # some are cut, some are not
    single = {name for name, paragraphs in texts.items() if sum(map(len, paragraphs)) == 1}
    assert single and not single & {name for name, _ in actual}


def test_the_seed_decides_the_order_of_documents(documents: DataFrame, files: Files, tmp_path: Path) -> None:
    again, other = (read_files(contiguous_sentences(documents, 9, 1, seed), tmp_path / f"{seed}") for seed in (5, 6))
    first, second = ([name for name, _ in group_documents(order)] for order in (again, other))
    assert first != second and sorted(first) == sorted(second) != first
    assert dict(group_documents(again)) == dict(group_documents(other)) == dict(group_documents(files))
    for file in files:  # the number of files does not change the order within a file
        names = [name for name, _ in group_documents([file])]
        assert names == [name for name in first if name in names]


@pytest.mark.parametrize("max_words", [1, 4])
def test_rows_and_counts_of_random_documents(spark: SparkSession, max_words: int, tmp_path: Path) -> None:
    """Includes documents without sentences, and one with an empty paragraph before a sentence."""
    draw = random.Random(max_words)

    def words() -> list[int]:
        return [draw.randint(5, 9) for _ in range(draw.randint(1, 6))]

    shapes = [[draw.randint(0, 2) for _ in range(draw.randint(0, 3))] for _ in range(40)] + [[], [0], [0, 1], [1, 1]]
    texts = {f"d{i}": [[words() for _ in range(size)] for size in shape] for i, shape in enumerate(shapes)}
    documents = table_of(spark, texts)
    rows, counts = plain_sentences(texts, max_words)
    assert count_sentences(documents, max_words) == counts
    assert (
        dict(group_documents(read_files(contiguous_sentences(documents, max_words, 2, 0), tmp_path / "table"))) == rows
    )


def test_a_corpus_without_neighbours_raises_an_error(spark: SparkSession) -> None:
    assert count_sentences(table_of(spark, {}), 5) == dict.fromkeys(COUNTS, 0)
    single = table_of(spark, {"a": [[[1, 2, 3]]], "b": [[], [[4] * 9]]})
    made = tables(ContiguousConfig(), Lengths(9, 9), 0)
    assert not made.tables[0].make(single).head(1)
    with pytest.raises(
        ValueError, match=r"no document of the corpus has two sentences.*'documents_of_one_sentence': 2"
    ):
        made.count(None, single)
