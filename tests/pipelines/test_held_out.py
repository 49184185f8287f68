"""Documents without training examples, on whose examples the loss is measured."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from pyspark.sql import SparkSession

from contexture.encoders.config import Lengths
from contexture.paths import HELD_OUT_DIR
from contexture.pipelines.examples.nodes import count_documents, select_documents
from contexture.pipelines.examples.pipeline import create_pipeline
from contexture.streams.sentences.config import SentencesConfig
from contexture.streams.sentences.sample import tables
from contexture.systems.config import SystemConfig
from contexture.systems.resolved import ResolvedSystem
from tests.training.toys import PRETRAIN, STEADY, STREAMS, schedule, transformer

SHARE = 0.25


def make_documents(spark: SparkSession, count: int, partitions: int = 1) -> Any:
    """Return documents of two sentences, each with the number of its document."""
    rows = [(f"d{number}", [(0, 0, [[number], [number]], [], [])]) for number in range(count)]
    fields = (
        "paragraph_index int, section_index int, sentences array<array<int>>, links array<int>, left_out array<int>"
    )
    schema = f"doc_id string, paragraphs array<struct<{fields}>>"
    return spark.createDataFrame(rows, schema).repartition(partitions)


def sample(documents: Any, part: Any) -> set[str]:
    """Return the documents of the examples of a part."""
    (table,) = tables(SentencesConfig(), Lengths(12, 12), 0).tables
    rows = select_documents(table.make, table.reads, SHARE, part, documents)
    return {row["document"] for row in rows.select("document").distinct().collect()}


def make_system(held_out: dict[str, Any] | None, **values: Any) -> SystemConfig:
    runs = {"run": schedule(2, mlm=1), "pairs": schedule(2, in_batch_negatives=1)}
    values = {"streams": {name: STREAMS[name] for name in ("joint", "pairs", "passages", "bitext")}} | values
    pretrain = PRETRAIN | {"runs": runs, "optimizer": STEADY, "held_out": held_out}
    system = {"seeds": 1, "lengths": {"query": 12, "document": 24}, "encoders": {"transformer": transformer()}}
    return TypeAdapter(SystemConfig).validate_python(system | {"pretrain": pretrain} | values)


def test_each_document_is_in_one_part_whatever_the_partitions(spark: SparkSession) -> None:
    few, many = make_documents(spark, 400), make_documents(spark, 400, partitions=7)
    trained, held_out = sample(few, "training"), sample(few, "held_out")
    assert not trained & held_out and len(trained | held_out) == 400
    assert 0.2 * 400 < len(held_out) < 0.3 * 400
    assert (sample(many, "training"), sample(many, "held_out")) == (trained, held_out)
    # Other documents do not change the part of a document.
    assert held_out <= sample(make_documents(spark, 500), "held_out")


def test_counts_are_those_of_the_part(spark: SparkSession) -> None:
    documents, defined = make_documents(spark, 100), tables(SentencesConfig(), Lengths(12, 12), 0)
    counts = [count_documents(defined.count, SHARE, part, None, documents) for part in ("training", "held_out")]
    assert sum(count["documents"] for count in counts) == 100 and 10 < counts[1]["documents"] < 40
    with pytest.raises(
        ValueError, match=r"held-out documents: no document .*; or raise pretrain\.held_out\.share, 1e-09"
    ):
        count_documents(defined.count, 1e-9, "held_out", None, documents)


def test_the_examples_of_both_parts_are_sampled() -> None:
    names = {
        is_on: {node.short_name for node in create_pipeline(ResolvedSystem("toy", make_system(settings))).nodes}
        for is_on, settings in ((False, None), (True, {"evaluate_every": 2}))
    }
    added = {"sample_held_out_passages", "sample_held_out_pairs_ict", "count_held_out_pairs", "sample_held_out_joint"}
    assert added <= names[True] and names[False] <= names[True]
    # Translations are no documents.
    assert not any("bitext" in name for name in names[True] - names[False])
    outputs = create_pipeline(ResolvedSystem("toy", make_system({"evaluate_every": 2}))).all_outputs()
    assert f"toy.{HELD_OUT_DIR}/pairs-folder" in outputs and f"toy.{HELD_OUT_DIR}/joint-examples@spark" in outputs


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValidationError, match="search is over all documents; set search to null"):
        make_system({"evaluate_every": 2}, search="pairs")
    runs = {"translations": schedule(2, bitext=1)}
    pretrain = PRETRAIN | {"runs": runs, "optimizer": STEADY, "held_out": {"evaluate_every": 2}}
    with pytest.raises(ValidationError, match="the run translations has no examples of documents"):
        make_system(None, pretrain=pretrain)
