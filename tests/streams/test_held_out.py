"""Held-out documents: no example of the others has text of them, and theirs have no text of the others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.encoders.config import Lengths
from contexture.imports import resolve
from contexture.splits import document_draw
from contexture.streams import held_out
from contexture.streams.config import STREAMS
from contexture.streams.tables import ExampleTables, held_out_dir
from contexture.streams.tokens import PARAGRAPH_FIELDS
from contexture.strict import validate
from tests.streams.make import MadeParagraph, collect_for_any_partitions, paragraphs_table, save_table
from tests.training.toys import STREAMS as SETTINGS

SHARE, DOCUMENTS = 0.3, 60
LENGTHS = Lengths(query=12, document=24)
#: A stream for each kind of examples from documents.
KINDS = {config.examples: name for name, config in sorted(STREAMS.items()) if config.source == "corpus"}
#: Columns with the token ids of examples.
TOKENS = ("tokens", "query", "title", "passage", "first", "second", "sentences", "pieces")


def list_documents(is_held_out: bool) -> set[int]:
    """Return the numbers of the documents that are held out, or of all others."""
    return {n for n in range(1, DOCUMENTS + 1) if (document_draw(f"en:{n}") < SHARE) == is_held_out}


def list_tokens(value: Any) -> Iterator[int]:
    """Yield the token ids of nested lists."""
    for item in value:
        yield from list_tokens(item) if isinstance(item, list) else [item]


@pytest.fixture(scope="module")
def inputs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DataFrame]:
    """Return paragraphs, and documents whose tokens are 100 times their number and more. Each links to next ones."""
    pages, texts = [], []
    for number in range(1, DOCUMENTS + 1):
        paragraphs = []
        for index in range(4):
            tokens = [[number * 100 + 20 * index + 5 * n + position for position in range(5)] for n in range(4)]
            links = [{"sentence_index": 1, "doc_id": f"en:{(number + index) % DOCUMENTS + 1}"}]
            values = (index, index // 2, tokens, links, [])
            paragraphs.append(dict(zip(PARAGRAPH_FIELDS, values, strict=True)))
            texts.append(MadeParagraph(f"en:{number}", index, [f"Sentence {n}." for n in range(4)], index // 2))
        pages.append((f"en:{number}", [number * 100 + 99], paragraphs, 16))
    fields = ", ".join(f"{name}: {kind}" for name, kind in PARAGRAPH_FIELDS.items())
    schema = f"doc_id string, title_tokens array<int>, paragraphs array<struct<{fields}>>, sentence_count bigint"
    documents = save_table(spark.createDataFrame(pages, schema), tmp_path_factory.mktemp("held_out") / "documents")
    return {"documents": documents, "paragraphs": paragraphs_table(spark, texts)}


def define_tables(kind: str) -> ExampleTables:
    """Return a kind's tables of examples, without hold-out."""
    settings = (
        SETTINGS[KINDS[kind]] if kind != "pairs" else {"sampling": {"tasks": ["ict", "bfs", "wlp", "neighbours"]}}
    )
    config: Any = validate(STREAMS[KINDS[kind]], settings)
    tables: ExampleTables = resolve(config.tables)(config, LENGTHS, 5)
    return tables


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind == "joint" else pytest.mark.slow) for kind in sorted(KINDS)],
)
def test_no_example_has_text_of_both_parts(kind: str, inputs: dict[str, DataFrame], tmp_path: Path) -> None:
    """Of all streams, also of pairs of pages and of negatives from other documents."""
    plain, made = define_tables(kind), held_out.hold_out(define_tables(kind), SHARE)
    assert [table.name for table in made.tables] == [table.name for table in plain.tables]
    known: dict[str, Any] = dict(inputs)
    sampled: list[DataFrame] = []
    observed: list[Any] = []
    for table in [*made.tables, *made.held_out]:
        rows = table.make(*(known[name] for name in table.reads))
        if table.observed:
            rows, observation = rows
            observed.append(observation)
        known[table.name] = save_table(rows, tmp_path / table.name)
        sampled += [known[table.name]] if table.name not in made.intermediate else []
    read = [table.name for table in made.tables if table.name not in made.intermediate]
    assert [table.name for table in made.held_out] == [f"held_out/{name}" for name in read]
    for name in read:
        for folder, is_held_out in ((name, False), (f"held_out/{name}", True)):
            columns = [column for column in known[folder].columns if column in TOKENS]
            examples = [
                {token // 100 for token in list_tokens(row)} for row in known[folder].select(*columns).collect()
            ]
            assert examples and set().union(*examples) <= list_documents(is_held_out)
            # Most documents have an example; links of two held-out documents are rare.
            if "wlp" not in name:
                assert len(set().union(*examples)) > 0.8 * len(list_documents(is_held_out))
    if made.intermediate:  # the search index has all documents
        assert known["passages"].select("doc_id").distinct().count() == DOCUMENTS
    # Counts are those of the examples that training reads.
    counts = made.count(*observed, *sampled, inputs["documents"])
    if observed:
        assert counts["documents"] == len(list_documents(False))
    else:
        trained = held_out.select_part(inputs["documents"], SHARE, is_held_out=False)
        assert counts == plain.count(*sampled[: len(read)], trained)


def test_the_choice_depends_on_ids_only(inputs: dict[str, DataFrame]) -> None:
    """Spark draws the same numbers as Python, and on any partitions."""
    documents = inputs["documents"]
    drawn = documents.select("doc_id", held_out.document_draw("doc_id")).collect()
    assert len(drawn) == DOCUMENTS
    for doc_id, number in drawn:
        assert number == document_draw(doc_id)
    both = [list_documents(held) for held in (True, False)]
    assert 0.15 * DOCUMENTS < len(both[0]) < 0.45 * DOCUMENTS and not both[0] & both[1]
    (table,) = held_out.hold_out(define_tables("sequence_pairs"), SHARE).held_out
    files = SETTINGS["sequence_pairs"].get("sampling", {}).get("files", 16)
    rows = collect_for_any_partitions(
        documents.sparkSession, files, lambda partitions: table.make(documents.repartition(partitions, "doc_id"))
    )
    assert {int(row["document"].removeprefix("en:")) for row in rows} == both[0]


def test_larger_shares_hold_out_the_same_documents_and_more() -> None:
    numbers = [document_draw(f"en:{number}") for number in range(10_000)]
    assert all(0 <= number < 1 for number in numbers)
    assert sum(number < 0.02 for number in numbers) == pytest.approx(200, abs=60)
    assert document_draw("ünïcode:名") == document_draw("ünïcode:名") != document_draw("en:1")


def test_inputs_without_documents_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    bitext = spark.createDataFrame([("a", 1)], "set string, number int")
    assert held_out.select_part(bitext, SHARE, is_held_out=True) is bitext
    assert held_out.select_part(tmp_path, SHARE, is_held_out=True) is tmp_path
    assert held_out_dir(tmp_path / "pairs") == tmp_path / "held_out" / "pairs"
