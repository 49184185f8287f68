"""Packing of whole sentences into passages."""

from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession

from contexture.streams.packing import pack_passages, pack_sentences
from contexture.streams.tokens import tokenize_paragraphs
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import MadeParagraph, collect_for_any_partitions, paragraphs_table, split_sentences

TOKENS, FILES = 32, 3


def passage_number(row: Row) -> int:
    return int(row["passage_id"].rpartition("#")[2])


def sort_passages(passages: DataFrame) -> list[Row]:
    return sorted(passages.collect(), key=lambda row: (row["doc_id"], passage_number(row)))


@given(st.lists(st.integers(1, 20)), st.integers(1, 30))
def test_packing_is_greedy_and_splits_no_sentence(lengths: list[int], budget: int) -> None:
    counts = pack_sentences(lengths, budget)
    assert sum(counts) == len(lengths)
    ends = [sum(counts[: i + 1]) for i in range(len(counts))]
    packed = [lengths[end - count : end] for end, count in zip(ends, counts, strict=True)]
    for passage in packed:
        assert len(passage) == 1 or sum(passage) <= budget
        assert passage
    for passage, following in pairwise(packed):
        assert sum(passage) + following[0] > budget, "the next sentence would have fitted"


@pytest.mark.parametrize(
    ("lengths", "counts"), [([], []), ([5, 5, 1, 9], [2, 2]), ([11, 1, 10], [1, 1, 1]), ([1, 99, 1], [1, 1, 1])]
)
def test_packing_by_hand(lengths: list[int], counts: list[int]) -> None:
    assert pack_sentences(lengths, 10) == counts


def test_a_page_by_hand(spark: SparkSession, vocabulary: Path) -> None:
    """One token per word. A budget of 12 minus 3 special tokens and 2 of the title leaves 7."""
    links: dict[str, str | None] = {"birch": "en:2", "delta": "en:3", "ember": "en:1", "larch": None}
    paragraphs = [
        MadeParagraph("en:1", 0, ["amber birch cedar", "\u200d", "delta delta"], 0, links=links),
        MadeParagraph("en:1", 1, ["\u200d"], 0, links=links),
        MadeParagraph("en:1", 2, ["ember birch", "fjord"], 0, links=links),
        MadeParagraph("en:1", 4, ["grove"], 1, links=links),
        MadeParagraph("en:1", 5, ["heath inlet jetty knoll larch birch delta amber"], 1, links=links),
        MadeParagraph("en:1", 6, ["larch"], 3, links=links),
        MadeParagraph("en:2", 0, ["", "\u200d"]),
    ]
    made = paragraphs_table(spark, paragraphs)
    rows = sort_passages(pack_passages(tokenize_paragraphs(made, vocabulary), made, 12, 2))
    assert [(row["passage_id"], row["section_index"], row["text"], row["links"]) for row in rows] == [
        ("en:1#0", 0, "amber birch cedar delta delta ember birch", ["en:2", "en:3"]),
        ("en:1#1", 0, "fjord", []),
        ("en:1#2", 1, "grove", []),
        ("en:1#3", 1, "heath inlet jetty knoll larch birch delta amber", ["en:2", "en:3"]),
        ("en:1#4", 3, "larch", []),
    ]
    assert [row["sentence_lengths"] for row in rows] == [[3, 2, 2], [1], [1], [8], [1]]
    tokenizer, _ = load_tokenizer(vocabulary)
    for row in rows:
        assert (row["doc_id"], row["title"]) == ("en:1", "Amber grove")
        assert row["title_tokens"] == tokenizer.encode("Amber grove", add_special_tokens=False).ids
        assert row["tokens"] == tokenizer.encode(row["text"], add_special_tokens=False).ids


def test_each_sentence_of_each_page_is_in_one_passage(documents: DataFrame, paragraphs: DataFrame) -> None:
    rows = sort_passages(pack_passages(documents, paragraphs, TOKENS, FILES))
    pages = {doc_id: list(of_page) for doc_id, of_page in groupby(rows, key=lambda row: row["doc_id"])}
    assert len(rows) > 2 * len(pages) == 2 * documents.count()
    for document in documents.collect():
        passages = pages[document["doc_id"]]
        assert [passage_number(row) for row in passages] == list(range(len(passages)))
        assert {tuple(row["title_tokens"]) for row in passages} == {tuple(document["title_tokens"])}
        expected = [(p["section_index"], s) for p in document["paragraphs"] for s in p["sentences"]]
        linked = [
            (p["section_index"], p["sentences"][link["sentence_index"]], link["doc_id"])
            for p in document["paragraphs"]
            for link in p["links"]
        ]
        packed: list[tuple[int, list[int]]] = []
        for row in passages:
            assert len(row["tokens"]) == sum(row["sentence_lengths"])
            size = len(row["tokens"]) + len(row["title_tokens"]) + 3
            assert size <= TOKENS or len(row["sentence_lengths"]) == 1
            assert len(row["links"]) == len(set(row["links"]))
            sentences = [(row["section_index"], sentence) for sentence in split_sentences(row)]
            assert {target for *rest, target in linked if tuple(rest) in sentences} - {row["doc_id"]} == set(
                row["links"]
            )
            packed += sentences
        assert packed == expected


def test_passages_are_sorted_and_do_not_depend_on_partitions(documents: DataFrame, paragraphs: DataFrame) -> None:
    def pack(partitions: int) -> DataFrame:
        parts = documents.repartition(partitions, "sentence_count"), paragraphs.repartition(partitions)
        return pack_passages(*parts, TOKENS, FILES)

    collect_for_any_partitions(documents.sparkSession, FILES, pack)
    for part in pack(2).rdd.glom().collect():
        assert part == sorted(part, key=lambda row: (row["doc_id"], passage_number(row)))


@pytest.mark.slow
def test_documents_and_paragraphs_that_do_not_match_raise_an_error(spark: SparkSession, vocabulary: Path) -> None:
    made = [MadeParagraph("en:1", 0, ["amber", "birch"]), MadeParagraph("en:1", 1, ["cedar"])]
    documents = tokenize_paragraphs(paragraphs_table(spark, made), vocabulary)
    for other in ([], made[:1], [MadeParagraph("en:1", 0, ["amber"]), made[1]], [MadeParagraph("en:2", 0, ["amber"])]):
        with pytest.raises(Exception, match=r"page en:1, paragraph [01]: \d sentences in the documents table, \d in"):
            pack_passages(documents, paragraphs_table(spark, other), TOKENS, FILES).collect()


def test_a_title_that_fills_the_document_leaves_one_sentence_per_passage(spark: SparkSession, vocabulary: Path) -> None:
    """Of 12 tokens, a title of 4 and 3 special tokens leave 5; a title of 9 or 20 leaves the minimum of 1."""
    sentences = ["amber", "birch", "cedar", "delta ember", "fjord"]
    made = paragraphs_table(
        spark, [MadeParagraph(f"en:{words}", 0, sentences, title="grove " * words) for words in (4, 9, 20)]
    )
    rows = sort_passages(pack_passages(tokenize_paragraphs(made, vocabulary), made, 12, 1))
    assert {row["doc_id"]: len(row["title_tokens"]) for row in rows} == {"en:4": 4, "en:9": 9, "en:20": 20}
    counts = {
        doc_id: [len(row["sentence_lengths"]) for row in of_page]
        for doc_id, of_page in groupby(rows, key=lambda row: row["doc_id"])
    }
    assert counts == {"en:4": [4, 1], "en:9": [1] * 5, "en:20": [1] * 5}
