"""Sampling of pairs with Spark."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.packing import pack_passages
from contexture.streams.pairs.config import PAIR_TASKS, PairSampling, PairsConfig, PairTask
from contexture.streams.pairs.sample import count_pairs, sample_headings, sample_pairs, tables
from contexture.streams.tokens import tokenize_paragraphs
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import (
    WORDS,
    MadeParagraph,
    collect_for_any_partitions,
    paragraphs_table,
    save_table,
    split_sentences,
)

CONFIG, LENGTHS = PairSampling(files=3), Lengths(query=12, document=32)
DRAWN: list[PairTask] = [*PAIR_TASKS, "neighbours"]
#: One token per word: 12 tokens minus 3 special ones and 2 of the title leave 7 for a passage.
BY_HAND, SHORT = PairSampling(files=1), Lengths(query=8, document=12)


@pytest.fixture(scope="module")
def passages(documents: DataFrame, paragraphs: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The passages table, read from disk as `sample_pairs` requires."""
    packed = pack_passages(documents, paragraphs, LENGTHS.document, CONFIG.files)
    return save_table(packed, tmp_path_factory.mktemp("passages") / "table")


def sample(task: PairTask, passages: DataFrame, documents: DataFrame, seed: int = 5) -> DataFrame:
    return sample_pairs(task, passages, documents, CONFIG, LENGTHS, seed)


def candidates(task: PairTask, passages: dict[str, Row], documents: DataFrame) -> dict[str, tuple[Row, Any]]:
    """Return start of a pair's id → its passage and possible queries, if any."""
    lead = {
        row["doc_id"]: [s for p in row["paragraphs"] if p["section_index"] == 0 for s in p["sentences"]]
        for row in documents.collect()
    }
    queries_by_id = {}
    for name, row in passages.items():
        sentences = split_sentences(row)
        if task == "wlp":
            queries_by_id |= {f"wlp:{name}:{target}": (row, lead[target]) for target in row["links"] if lead[target]}
            continue
        page, _, number = name.rpartition("#")
        adjacent = [f"{page}#{int(number) + step}" for step in (-1, 1)]
        near = [sentence for other in adjacent if other in passages for sentence in split_sentences(passages[other])]
        queries = {"ict": sentences, "bfs": lead[row["doc_id"]], "neighbours": near}[task]
        if (
            len({tuple(s) for s in sentences}) > 1
            if task == "ict"
            else any(query not in sentences for query in queries)
        ):
            queries_by_id[f"{task}:{name}"] = row, queries
    return queries_by_id


@pytest.mark.parametrize("task", DRAWN)
def test_pairs_are_those_of_a_plain_implementation(task: PairTask, passages: DataFrame, documents: DataFrame) -> None:
    expected = candidates(task, {row["passage_id"]: row for row in passages.collect()}, documents)
    pairs = sample(task, passages, documents).collect()
    assert len({pair["pair_id"] for pair in pairs}) == len(pairs) > 20
    times = Counter(pair["document"] for pair in pairs)
    starts = set()
    for pair in pairs:
        start, _, number = (pair["pair_id"], "", "") if task == "wlp" else pair["pair_id"].rpartition(":")
        row, queries = expected[start]
        starts.add(start)
        query = next((q for q in queries if q[:10] == pair["query"]), None) if task == "wlp" else queries[int(number)]
        assert pair["query"] == query[:10] != []
        sentences = split_sentences(row)
        assert task in ("ict", "wlp") or query not in sentences
        rest = [token for sentence in sentences if task != "ict" or sentence != query for token in sentence]
        assert pair["passage"] == rest[: 32 - 3 - len(pair["title"])] != []
        assert (pair["document"], pair["title"]) == (row["passage_id"], row["title_tokens"])
        assert pair["document_pairs"] == times[pair["document"]]
    assert starts == expected.keys()


def test_headings_are_paired_with_passages_below_them(spark: SparkSession, vocabulary: Path, tmp_path: Path) -> None:
    pages = [
        MadeParagraph("en:1", 0, ["amber amber amber", "grove"], 0),
        MadeParagraph("en:1", 1, ["birch heath delta birch"], 1, section="Heath Jetty"),
        MadeParagraph("en:1", 2, ["cedar cedar cedar cedar", "inlet inlet inlet inlet"], 1, section="Heath Jetty"),
        MadeParagraph("en:2", 0, ["larch"], 0),
    ]
    paragraphs = paragraphs_table(spark, pages)
    packed = save_table(
        pack_passages(tokenize_paragraphs(paragraphs, vocabulary), paragraphs, 12, 1), tmp_path / "passages"
    )
    passages = {row["passage_id"]: row for row in packed.collect()}
    headings = {f"en:1#{number}": "Heath Jetty" for number in (1, 2, 3)} | {"en:1#0": "", "en:2#0": ""}
    assert {name: row["heading"] for name, row in passages.items()} == headings
    tokenizer, _ = load_tokenizer(vocabulary)
    for seed in range(2):
        rows = sample_headings(packed, vocabulary, BY_HAND, SHORT, seed).collect()
        assert all(row["title"] == [] and row["document_pairs"] == 1 for row in rows)
        pairs = {row["document"]: (tokenizer.decode(row["query"]), tokenizer.decode(row["passage"])) for row in rows}
        below = [name for name in pairs if headings[name]]
        assert sorted(pairs) == ["en:1#0", *below, "en:2#0"] and len(below) == 1  # one per section
        title = tokenizer.decode(passages["en:2#0"]["title_tokens"])
        assert pairs["en:2#0"] == (title, "larch") and pairs[below[0]][0] == f"{title} heath jetty"
    more = replace(BY_HAND, pairs_per_passage=2)
    assert len(sample_headings(packed, vocabulary, more, SHORT, 0).collect()) == 4


@pytest.mark.slow
def test_held_out_documents_are_in_no_pair(
    documents: DataFrame, paragraphs: DataFrame, vocabulary: Path, tmp_path: Path
) -> None:
    sampling = PairSampling(tasks=[*DRAWN, "headings"], held_out=0.4, files=3, pairs_per_passage=3)
    made = tables(PairsConfig(sampling=sampling), LENGTHS, 5)
    passages = save_table(made.tables[0].make(documents, paragraphs), tmp_path / "passages")
    held = {(row["doc_id"], row["held_out"]) for row in passages.select("doc_id", "held_out").collect()}
    pages, out = {name for name, _ in held}, {name for name, is_out in held if is_out}
    assert len(held) == len(pages) and 0.2 * len(pages) < len(out) < 0.6 * len(pages)
    inputs = {"passages": passages, "documents": documents, "tokenizer": vocabulary}
    for made_table in made.tables[1:]:
        pairs = made_table.make(*(inputs[name] for name in made_table.reads)).collect()
        assert pairs and not {pair["document"].rpartition("#")[0] for pair in pairs} & out
        if made_table.name == "pairs/wlp":
            assert not {f"en:{pair['pair_id'].rpartition(':')[2]}" for pair in pairs} & out


def test_pages_by_hand(spark: SparkSession, vocabulary: Path, tmp_path: Path) -> None:
    links: dict[str, str | None] = {"birch": "en:2", "cedar": "en:3", "delta": "en:1", "ember": "en:4", "fjord": "en:5"}
    pages = [
        # The first section is one passage; the second links twice to en:2, and to its own page.
        MadeParagraph("en:1", 0, ["amber amber amber", "grove"], 0),
        MadeParagraph("en:1", 1, ["birch heath", "delta birch cedar"], 1, links=links),
        # No first section, so no queries, although en:1 links to it.
        MadeParagraph("en:3", 1, ["inlet jetty", "ember"], 1, links=links),
        # One sentence that is longer than a passage; en:5 is not in the corpus.
        MadeParagraph("en:2", 0, ["knoll " * 8 + "fjord"], 0, links=links),
        MadeParagraph("en:4", 0, ["larch"], 0),
    ]
    paragraphs = paragraphs_table(spark, pages)
    documents = save_table(tokenize_paragraphs(paragraphs, vocabulary), tmp_path / "documents")
    passages = save_table(pack_passages(documents, paragraphs, 12, 1), tmp_path / "passages")
    tokenizer, _ = load_tokenizer(vocabulary)
    pairs = {
        task: {
            (tokenizer.decode(row["query"]), tokenizer.decode(row["passage"]), row["document"])
            for row in sample_pairs(task, passages, documents, BY_HAND, SHORT, 3).collect()
        }
        for task in PAIR_TASKS
    }
    body = "birch heath delta birch cedar"
    assert pairs["wlp"] == {("knoll " * 5 + "knoll", body, "en:1#1"), ("larch", "inlet jetty ember", "en:3#0")}
    assert len(pairs["bfs"]) == 1
    assert pairs["bfs"] <= {(query, body, "en:1#1") for query in ("amber amber amber", "grove")}
    assert sorted(document for *_, document in pairs["ict"]) == ["en:1#0", "en:1#1", "en:3#0"]
    halves = {"en:1#0": ("amber amber amber", "grove"), "en:1#1": ("birch heath", "delta birch cedar"),
              "en:3#0": ("inlet jetty", "ember")}  # fmt: skip
    assert pairs["ict"] <= {(*order, name) for name, (a, b) in halves.items() for order in ((a, b), (b, a))}


@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[] if task == "wlp" else pytest.mark.slow) for task in DRAWN]
)
def test_pairs_do_not_depend_on_partitions_and_cores(task: PairTask, passages: DataFrame, documents: DataFrame) -> None:
    def make(partitions: int) -> DataFrame:
        return sample(task, passages.repartition(partitions, "text"), documents.repartition(partitions))

    assert collect_for_any_partitions(documents.sparkSession, CONFIG.files, make)


def test_another_seed_gives_other_pairs_in_another_order(passages: DataFrame, documents: DataFrame) -> None:
    first, second = (sample("ict", passages, documents, seed).collect() for seed in (1, 2))
    assert {(row["document"], *row["query"]) for row in first} != {(row["document"], *row["query"]) for row in second}
    common = {row["pair_id"] for row in first} & {row["pair_id"] for row in second}
    orders = [[row["pair_id"] for row in rows if row["pair_id"] in common] for rows in (first, second)]
    assert orders[0] != orders[1] != sorted(common)


@pytest.mark.slow
def test_a_page_with_many_links_uses_all_its_sentences(spark: SparkSession, vocabulary: Path) -> None:
    pages = [MadeParagraph("en:0", 0, list(WORDS))]
    pages += [MadeParagraph(f"en:{i}", 0, ["amber birch"], 1, links={"birch": "en:0"}) for i in range(1, 601)]
    paragraphs = paragraphs_table(spark, pages)
    documents = tokenize_paragraphs(paragraphs, vocabulary)
    pairs = sample("wlp", pack_passages(documents, paragraphs, 32, 1), documents).collect()
    assert len({pair["document"] for pair in pairs}) == len(pairs) == 600
    queries = Counter(tuple(pair["query"]) for pair in pairs)
    assert len(queries) == len(WORDS)
    assert all(22 < count < 78 for count in queries.values())  # 50, ±4 standard deviations


def test_pairs_are_counted(spark: SparkSession) -> None:
    rows: list[Any] = [([1, 2], [7, 7, 7], [3, 4, 5]), ([1], [], [2, 2, 2, 2])]
    schema = "query array<int>, title array<int>, passage array<int>"
    counts = {"pairs": 2, "tokens": 10, "mean_query_tokens": 1.5, "mean_document_tokens": 3.5}
    assert count_pairs(spark.createDataFrame(rows, schema)) == counts
    assert count_pairs(spark.createDataFrame([], schema)) == dict.fromkeys(counts, 0)


def test_tables_are_passages_and_pairs_of_each_task(
    passages: DataFrame,
    documents: DataFrame,
    paragraphs: DataFrame,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = tables(PairsConfig(sampling=CONFIG), LENGTHS, 5)
    assert [(table.name, table.reads) for table in made.tables] == [
        ("passages", ("documents", "paragraphs")),
        *((f"pairs/{task}", ("passages", "documents")) for task in PAIR_TASKS),
    ]
    assert made.intermediate == ("passages",)
    packed = save_table(made.tables[0].make(documents, paragraphs), tmp_path / "passages")
    assert sorted(packed.drop("held_out").collect()) == sorted(passages.collect())
    assert packed.where("held_out").count() == 0
    pairs = [table.make(packed, documents).cache() for table in made.tables[1:]]
    for task, task_pairs in zip(PAIR_TASKS, pairs, strict=True):
        assert task_pairs.collect() == sample(task, passages, documents).collect()
    counts = {task: count_pairs(task_pairs) for task, task_pairs in zip(PAIR_TASKS, pairs, strict=True)}
    assert made.count(*pairs, documents) == counts
    none = [task_pairs.limit(0) for task_pairs in pairs]
    with pytest.raises(ValueError, match=r"no training pairs.* set streams\.pairs\.sampling\.required to false"):
        made.count(*none, documents)
    optional = tables(PairsConfig(sampling=replace(CONFIG, required=False)), LENGTHS, 5)
    assert [count["pairs"] for count in optional.count(*none, documents).values()] == [0, 0, 0]
    assert "no training pairs, which need two sentences, headings or links: nothing is trained" in caplog.text
