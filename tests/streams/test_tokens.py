"""Tokenization of paragraphs into documents."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from contexture.streams.tokens import read_documents, select_sentences, tokenize_paragraphs
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import MadeParagraph, paragraphs_table, random_paragraphs, spark_settings


def by_document(table: DataFrame) -> list[Row]:
    return sorted(table.collect(), key=lambda row: str(row["doc_id"]))


def links(paragraph: Any) -> list[tuple[int, str]]:
    return [(link["sentence_index"], link["doc_id"]) for link in paragraph["links"]]


def test_each_sentence_is_tokenized(documents: DataFrame, vocabulary: Path) -> None:
    tokenizer, _ = load_tokenizer(vocabulary)
    expected: dict[str, list[tuple[int, int, list[list[int]], list[int]]]] = {}
    titles = {}
    for made in random_paragraphs():
        ids = [tokenizer.encode(text, add_special_tokens=False).ids for text in made.sentences]
        expected.setdefault(made.doc_id, []).append((made.paragraph_index, made.section_index, ids, []))
        titles[made.doc_id] = tokenizer.encode(made.title, add_special_tokens=False).ids
    rows = by_document(documents)
    fields = ("paragraph_index", "section_index", "sentences", "left_out")
    actual = {row["doc_id"]: [tuple(p[name] for name in fields) for p in row["paragraphs"]] for row in rows}
    assert actual == expected
    assert {row["doc_id"]: row["title_tokens"] for row in rows} == titles
    assert {row["doc_id"]: row["sentence_count"] for row in rows} == {
        doc_id: sum(len(part[2]) for part in parts) for doc_id, parts in expected.items()
    }
    assert max(len(ids) for parts in expected.values() for part in parts for ids in part[2]) == 17


def test_a_link_belongs_to_the_sentence_in_which_it_starts(spark: SparkSession, vocabulary: Path) -> None:
    amber, birch = "en:7", "en:9"
    sentences = ["amber birch.", "amber amber cedar.", "\u200d", "delta. birch", "ember"]
    rows = [
        MadeParagraph("en:1", 0, sentences, links={"amber": amber, "birch": birch, "cedar": None, "\u200d": amber}),
        MadeParagraph("en:1", 1, ["fjord", "birch"], links={"fjord birch": amber, "birch": birch}),
        MadeParagraph("en:1", 2, ["amber"]),
        # A repeated sentence is searched for after its first occurrence.
        MadeParagraph("en:1", 3, ["cedar grove", "cedar grove"], links={"grove cedar": amber}),
    ]
    [row] = tokenize_paragraphs(paragraphs_table(spark, rows), vocabulary).collect()
    assert [links(paragraph) for paragraph in row["paragraphs"]] == [
        [(0, amber), (0, birch), (1, amber), (2, birch)],
        [(0, amber), (1, birch)],
        [],
        [(0, amber)],
    ]
    assert [paragraph["left_out"] for paragraph in row["paragraphs"]] == [[2], [], [], []]


@pytest.mark.parametrize("partitions", [1, 7])
def test_documents_do_not_depend_on_partitions(
    partitions: int, paragraphs: DataFrame, documents: DataFrame, vocabulary: Path
) -> None:
    shuffled = paragraphs.orderBy("sentences", ascending=partitions > 1).repartition(partitions)
    with spark_settings(paragraphs.sparkSession, spark__sql__execution__arrow__maxRecordsPerBatch="5"):
        assert by_document(tokenize_paragraphs(shuffled, vocabulary)) == by_document(documents)


def test_sentences_without_tokens_are_dropped(spark: SparkSession, vocabulary: Path) -> None:
    rows = [
        MadeParagraph("en:1", 0, ["\u200d", "amber", ""]),
        MadeParagraph("en:1", 1, []),
        MadeParagraph("en:1", 2, [" "]),
        MadeParagraph("en:1", 4, ["birch", "cedar"]),
        MadeParagraph("en:2", 0, [""]),
    ]
    [row] = tokenize_paragraphs(paragraphs_table(spark, rows).coalesce(1), vocabulary).collect()
    assert row["doc_id"] == "en:1"
    assert [(p["paragraph_index"], len(p["sentences"]), p["left_out"]) for p in row["paragraphs"]] == [
        (0, 1, [0, 2]),
        (4, 2, []),
    ]
    assert row["sentence_count"] == 3


def test_reading_cuts_sentences_and_skips_other_columns(documents: DataFrame) -> None:
    sentences = select_sentences(documents)
    plan = sentences._jdf.queryExecution().toString()
    assert "paragraph_index" in plan
    [schema] = {line.rpartition("ReadSchema: ")[2] for line in plan.splitlines() if "ReadSchema" in line}
    assert schema == "struct<doc_id:string,paragraphs:array<struct<paragraph_index:int,sentences:array<array<int>>>>>"
    read = read_documents(sentences.toArrow(), 4)
    for document, row in zip(read, by_document(documents), strict=True):
        assert document.doc_id == row["doc_id"]
        assert document.paragraphs == [
            (p["paragraph_index"], [tuple(sentence[:4]) for sentence in p["sentences"]]) for p in row["paragraphs"]
        ]


def test_sentences_that_are_not_in_the_text_raise_an_error(spark: SparkSession, vocabulary: Path) -> None:
    *start, _, sentences, links = MadeParagraph("en:1", 3, ["amber"], links={"amber": "en:2"}).row()
    row = (*start, "ember amb", sentences, links)
    damaged = spark.createDataFrame([row], paragraphs_table(spark, []).schema)
    with pytest.raises(Exception, match="page en:1, paragraph 3: a sentence is not in the paragraph's text"):
        tokenize_paragraphs(damaged, vocabulary).collect()


def test_tokenizing_needs_a_vocabulary(paragraphs: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json"):
        tokenize_paragraphs(paragraphs, tmp_path)
