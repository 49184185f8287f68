"""The tables of pairs: the right sentences, the right passages, the same however the work is cut up."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.packing import pack_passages
from contexture.streams.pairs.config import PAIR_TASKS, PairSampling, PairsConfig, PairTask, TwoTowerSampling
from contexture.streams.pairs.sample import count_pairs, sample_headings, sample_pairs, tables
from contexture.streams.tokens import tokenize_paragraphs
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import WORDS, Made, table, the_same_however_cut

CONFIG = TwoTowerSampling(document_tokens=32, query_tokens=12, files=3)


def packed(documents: DataFrame, paragraphs: DataFrame, config: TwoTowerSampling = CONFIG) -> DataFrame:
    return pack_passages(documents, paragraphs, config.document_tokens, config.files)


@pytest.fixture(scope="module")
def passages(documents: DataFrame, paragraphs: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The passages table, read from disk as `sample_pairs` asks."""
    folder = str(tmp_path_factory.mktemp("passages") / "table")
    packed(documents, paragraphs).write.parquet(folder)
    return paragraphs.sparkSession.read.parquet(folder)


def sentences(passage: Row) -> list[list[int]]:
    found, start = [], 0
    for length in passage["sentence_lengths"]:
        found.append(passage["tokens"][start : start + length])
        start += length
    return found


def first_sections(documents: DataFrame) -> dict[str, list[list[int]]]:
    return {
        row["doc_id"]: [s for p in row["paragraphs"] if p["section_index"] == 0 for s in p["sentences"]]
        for row in documents.collect()
    }


def drawn(task: PairTask, passages: DataFrame, documents: DataFrame, seed: int = 5) -> list[tuple[Row, Row]]:
    """Pairs, each with the passage on its document side; what holds for every task is checked here."""
    by_id = {row["passage_id"]: row for row in passages.collect()}
    pairs = sample_pairs(task, passages, documents, CONFIG, seed).collect()
    assert len({pair["pair_id"] for pair in pairs}) == len(pairs) > 20
    times = Counter(pair["document"] for pair in pairs)
    for pair in pairs:
        assert pair["document_pairs"] == times[pair["document"]]
        assert pair["title"] == by_id[pair["document"]]["title_tokens"]
        assert 0 < len(pair["query"]) <= CONFIG.query_tokens - 2
        assert 0 < len(pair["passage"]) <= CONFIG.document_tokens - 3 - len(pair["title"])
    return [(pair, by_id[pair["document"]]) for pair in pairs]


def cut(sentence: list[int]) -> list[int]:
    return sentence[: CONFIG.query_tokens - 2]


def test_ict_pairs_a_sentence_with_the_rest_of_its_passage(passages: DataFrame, documents: DataFrame) -> None:
    pairs = drawn("ict", passages, documents)
    assert {passage["passage_id"] for _, passage in pairs} == {
        row["passage_id"] for row in passages.collect() if len({tuple(s) for s in sentences(row)}) > 1
    }
    for pair, passage in pairs:
        said = sentences(passage)
        place = int(pair["pair_id"].rpartition(":")[2])
        assert pair["query"] == cut(said[place])
        assert pair["passage"] == [token for sentence in said if sentence != said[place] for token in sentence]


def test_bfs_pairs_a_sentence_of_the_first_section_with_another_passage(
    passages: DataFrame, documents: DataFrame
) -> None:
    first = first_sections(documents)
    pairs = drawn("bfs", passages, documents)
    asked = {passage["passage_id"] for _, passage in pairs}
    for pair, passage in pairs:
        queries = [sentence for sentence in first[passage["doc_id"]] if sentence not in sentences(passage)]
        assert pair["query"] in [cut(query) for query in queries]
        assert pair["passage"] == passage["tokens"][: len(pair["passage"])]
    for row in passages.collect():
        others = [sentence for sentence in first[row["doc_id"]] if sentence not in sentences(row)]
        assert (row["passage_id"] in asked) == bool(others)


def test_wlp_pairs_a_sentence_of_the_page_linked_to_with_the_passage_that_links(
    passages: DataFrame, documents: DataFrame
) -> None:
    first = first_sections(documents)
    pairs = drawn("wlp", passages, documents)
    expected = {(row["passage_id"], target) for row in passages.collect() for target in row["links"] if first[target]}
    found = []
    for pair, passage in pairs:
        task, target = pair["pair_id"].split(f":{passage['passage_id']}:")
        assert task == "wlp"
        assert target != passage["doc_id"]
        assert pair["query"] in [cut(sentence) for sentence in first[target]]
        assert pair["passage"] == passage["tokens"][: len(pair["passage"])]
        found.append((passage["passage_id"], target))
    assert sorted(found) == sorted(expected)


def test_neighbours_pair_a_sentence_with_the_passage_beside(passages: DataFrame, documents: DataFrame) -> None:
    by_id = {row["passage_id"]: row for row in passages.collect()}
    pairs = drawn("neighbours", passages, documents)
    asked = {passage["passage_id"] for _, passage in pairs}
    for name, passage in by_id.items():
        page, _, number = name.rpartition("#")
        names = [f"{page}#{int(number) + step}" for step in (-1, 1)]
        near = [sentence for beside in names if beside in by_id for sentence in sentences(by_id[beside])]
        others = [cut(sentence) for sentence in near if sentence not in sentences(passage)]
        assert (name in asked) == bool(others)
        found = [pair["query"] for pair, document in pairs if document["passage_id"] == name]
        assert len(found) <= CONFIG.pairs_per_passage and all(query in others for query in found)


def test_headings_ask_for_what_stands_below_them(spark: SparkSession, vocabulary: Path) -> None:
    pages = [
        Made("en:1", 0, ["amber amber amber", "grove"], 0),
        Made("en:1", 1, ["birch heath delta birch"], 1, section="Heath Jetty"),
        Made("en:1", 2, ["cedar cedar cedar cedar", "inlet inlet inlet inlet"], 1, section="Heath Jetty"),
        Made("en:2", 0, ["larch"], 0),
    ]
    paragraphs = table(spark, pages)
    config = TwoTowerSampling(document_tokens=12, query_tokens=8, files=1)
    found = packed(tokenize_paragraphs(paragraphs, vocabulary), paragraphs, config)
    headings = {row["passage_id"]: row["heading"] for row in found.collect()}
    assert headings == {
        "en:1#0": "",
        "en:1#1": "Heath Jetty",
        "en:1#2": "Heath Jetty",
        "en:1#3": "Heath Jetty",
        "en:2#0": "",
    }
    tokenizer, _ = load_tokenizer(vocabulary)
    for seed in range(4):
        rows = sample_headings(found, vocabulary, config, seed).collect()
        assert all(row["title"] == [] and row["document_pairs"] == 1 for row in rows)
        told = {row["document"]: (tokenizer.decode(row["query"]), tokenizer.decode(row["passage"])) for row in rows}
        titles = {row["passage_id"]: tokenizer.decode(row["title_tokens"]) for row in found.collect()}
        below = [name for name in told if headings[name]]
        assert sorted(told) == ["en:1#0", *below, "en:2#0"] and len(below) == 1  # one a section
        assert told["en:2#0"] == (titles["en:2#0"], "larch")
        assert told[below[0]][0] == f"{titles['en:1#1']} heath jetty".strip()
    assert len(sample_headings(found, vocabulary, replace(config, pairs_per_passage=2), 0).collect()) == 4


def test_no_pair_has_a_part_of_a_document_that_is_held_out(
    documents: DataFrame, paragraphs: DataFrame, vocabulary: Path, tmp_path: Path
) -> None:
    sampling = PairSampling(
        tasks=["ict", "bfs", "wlp", "headings", "neighbours"], held_out=0.4, files=3, pairs_per_passage=3
    )
    made = tables(PairsConfig(sampling=sampling), Lengths(query=12, document=32), 5)
    made.tables[0].make(documents, paragraphs).write.parquet(str(tmp_path / "passages"))
    every = paragraphs.sparkSession.read.parquet(str(tmp_path / "passages"))
    pages: dict[str, bool] = {}
    for row in every.select("doc_id", "held_out").collect():
        assert pages.setdefault(row["doc_id"], row["held_out"]) == row["held_out"]
    out = {name for name, held in pages.items() if held}
    assert 0.2 * len(pages) < len(out) < 0.6 * len(pages)
    for one in made.tables[1:]:
        given = {"passages": every, "documents": documents, "tokenizer": vocabulary}
        pairs = one.make(*(given[name] for name in one.reads)).collect()
        assert pairs
        for pair in pairs:
            assert pair["document"].rpartition("#")[0] not in out
            assert not (one.name == "pairs/wlp" and pair["pair_id"].rpartition(":en:")[2] in {o[3:] for o in out})


def test_pages_by_hand(spark: SparkSession, vocabulary: Path) -> None:
    """One token a word; 12 tokens less 3 special ones and 2 of the title leave 7 to a passage."""
    links: dict[str, str | None] = {"birch": "en:2", "cedar": "en:3", "delta": "en:1", "ember": "en:4", "fjord": "en:5"}
    pages = [
        # Its first section is one passage; the second links twice to en:2, and to itself.
        Made("en:1", 0, ["amber amber amber", "grove"], 0),
        Made("en:1", 1, ["birch heath", "delta birch cedar"], 1, links=links),
        # No first section: nothing to ask with, though en:1 links to it.
        Made("en:3", 1, ["inlet jetty", "ember"], 1, links=links),
        # One sentence, longer than a passage; en:5 is no page of the corpus.
        Made("en:2", 0, ["knoll " * 8 + "fjord"], 0, links=links),
        Made("en:4", 0, ["larch"], 0),
    ]
    paragraphs = table(spark, pages)
    config = TwoTowerSampling(document_tokens=12, query_tokens=8, files=1)
    documents = tokenize_paragraphs(paragraphs, vocabulary)
    passages = packed(documents, paragraphs, config)
    tokenizer, _ = load_tokenizer(vocabulary)
    found = {
        task: {
            (tokenizer.decode(row["query"]), tokenizer.decode(row["passage"]), row["document"])
            for row in sample_pairs(task, passages, documents, config, 3).collect()
        }
        for task in PAIR_TASKS
    }
    body = "birch heath delta birch cedar"
    assert found["wlp"] == {("knoll " * 5 + "knoll", body, "en:1#1"), ("larch", "inlet jetty ember", "en:3#0")}
    assert len(found["bfs"]) == 1
    assert found["bfs"] <= {(query, body, "en:1#1") for query in ("amber amber amber", "grove")}
    assert sorted(document for *_, document in found["ict"]) == ["en:1#0", "en:1#1", "en:3#0"]
    assert found["ict"] <= {
        ("amber amber amber", "grove", "en:1#0"),
        ("grove", "amber amber amber", "en:1#0"),
        ("birch heath", "delta birch cedar", "en:1#1"),
        ("delta birch cedar", "birch heath", "en:1#1"),
        ("inlet jetty", "ember", "en:3#0"),
        ("ember", "inlet jetty", "en:3#0"),
    }


@pytest.mark.parametrize("task", [*PAIR_TASKS, "neighbours"])
def test_pairs_do_not_depend_on_partitions_and_cores(task: PairTask, passages: DataFrame, documents: DataFrame) -> None:
    def sample(partitions: int) -> DataFrame:
        parts = passages.repartition(partitions, "text"), documents.repartition(partitions)
        return sample_pairs(task, *parts, CONFIG, 11)

    assert the_same_however_cut(documents.sparkSession, CONFIG.files, sample)


def test_another_seed_gives_other_pairs_in_another_order(passages: DataFrame, documents: DataFrame) -> None:
    first, second = (sample_pairs("ict", passages, documents, CONFIG, seed).collect() for seed in (1, 2))
    assert {(row["document"], *row["query"]) for row in first} != {(row["document"], *row["query"]) for row in second}
    common = {row["pair_id"] for row in first} & {row["pair_id"] for row in second}
    orders = [[row["pair_id"] for row in rows if row["pair_id"] in common] for rows in (first, second)]
    assert orders[0] != orders[1] != sorted(common)


def test_a_page_linked_from_everywhere_gets_each_of_its_sentences_asked(spark: SparkSession, vocabulary: Path) -> None:
    pages = [Made("en:0", 0, list(WORDS))]
    pages += [Made(f"en:{i}", 0, ["amber birch"], 1, links={"birch": "en:0"}) for i in range(1, 1201)]
    paragraphs = table(spark, pages)
    documents = tokenize_paragraphs(paragraphs, vocabulary)
    pairs = sample_pairs("wlp", packed(documents, paragraphs), documents, CONFIG, 1).collect()
    assert len({pair["document"] for pair in pairs}) == len(pairs) == 1200
    asked = Counter(tuple(pair["query"]) for pair in pairs)
    assert len(asked) == len(WORDS)
    assert all(60 < count < 140 for count in asked.values())


def test_counts_are_those_of_table_1(spark: SparkSession) -> None:
    rows: list[Any] = [([1, 2], [7, 7, 7], [3, 4, 5]), ([1], [], [2, 2, 2, 2])]
    schema = "query array<int>, title array<int>, passage array<int>"
    counts = {"pairs": 2, "tokens": 10, "mean_query_tokens": 1.5, "mean_document_tokens": 3.5}
    assert count_pairs(spark.createDataFrame(rows, schema)) == counts
    assert count_pairs(spark.createDataFrame([], schema)) == dict.fromkeys(counts, 0)


def test_the_stage_makes_passages_and_a_table_for_each_task(
    passages: DataFrame, documents: DataFrame, paragraphs: DataFrame
) -> None:
    made = tables(PairsConfig(sampling=PairSampling(files=3)), Lengths(query=12, document=32), 5)
    names = ["passages", "pairs/ict", "pairs/bfs", "pairs/wlp"]
    assert [table.name for table in made.tables] == names and made.between == ("passages",)
    assert [table.reads for table in made.tables] == [("documents", "paragraphs")] + [("passages", "documents")] * 3
    found = made.tables[0].make(documents, paragraphs)
    assert sorted(found.drop("held_out").collect()) == sorted(passages.collect())
    assert found.where("held_out").count() == 0
    pairs = [table.make(found, documents) for table in made.tables[1:]]
    for task, found in zip(PAIR_TASKS, pairs, strict=True):
        assert found.collect() == sample_pairs(task, passages, documents, CONFIG, 5).collect()
    assert made.count(*pairs, documents) == {
        task: count_pairs(found) for task, found in zip(PAIR_TASKS, pairs, strict=True)
    }
    with pytest.raises(ValueError, match="no pair could be sampled from this corpus"):
        made.count(*(found.limit(0) for found in pairs), documents)
