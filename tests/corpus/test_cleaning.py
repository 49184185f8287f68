"""Cleaning on Spark: reasons, counts, samples, and the same table for any partitions.

A run of `clean` takes seconds, so each configuration runs once.
"""

import dataclasses
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from pyspark.sql import DataFrame, SparkSession

from contexture.corpus import cleaning
from contexture.corpus.cleaning import (
    REASONS,
    SAMPLE_PARAGRAPHS,
    count_documents,
    count_paragraphs,
    mark_dropped_paragraphs,
    sample_dropped,
    select_kept,
)
from contexture.corpus.config import CleaningConfig
from contexture.corpus.evaluation import EvaluationTexts
from contexture.corpus.main_content import MainContentModel, build_features
from contexture.text.quality import Filters
from tests.corpus.make import partition_rows

SCHEMA = (
    "doc_id string, title string, lang string, section_index int, section string, paragraph_index int, text string, "
    "sentences array<string>, links array<struct<target: string, start: int, end: int>>, kind string"
)
FERRY = "The ferry to the island leaves at seven and takes the old road of the sea around the whole of the northern bay"
MILL = "A mill has stood by this stream since the days when the monks first ground their corn here for the village"
BELL = "On the eve of the feast the great bell is rung by children who have learnt to read during the past year"
WELL = "Nobody remembers who dug the well behind the inn, or why its water tastes of iron when snow lies on the hills"
#: Documents with their paragraphs, and the expected `dropped` and `duplicate_of`.
DOCUMENTS: dict[str, list[tuple[str, str | None, str | None]]] = {
    "en:1": [(f"{FERRY}.", None, None), ("Too short.", "too_short", None), (f"{MILL}.", None, None)],
    "en:2": [
        (f"{FERRY.upper()}.", "duplicate_paragraph", "en:1#0"),
        (f"{BELL} {{{{rest.", "markup_left", None),
        (f"{MILL} .", "near_duplicate_paragraph", "en:1#2"),
        ("12 | 34 | 56 | 78 | 90 | 12 | 34", "few_letters", None),
        ("so and so and so and so and so and so", "repetition", None),
        (f"{WELL}.", None, None),
    ],
    "en:3": [(f"{BELL} {MILL}.", None, None)],
    "en:4": [(f"{BELL}  {MILL}.", "duplicate_document", "en:3")],
    "en:5": [(f"{BELL} {MILL} .", "near_duplicate_document", "en:3"), ("Too short.", "too_short", None)],
    "it:1": [(f"{FERRY}.", "wrong_language", None)],
    "xx:1": [(f"{FERRY}.", None, None)],
}
CONFIG = CleaningConfig()


def make_rows() -> list[tuple[Any, ...]]:
    return [
        (doc_id, f"Title {doc_id}", doc_id[:2], 0, "", index, text, [text], [("Sea", 0, 3)], "prose")
        for doc_id, paragraphs in DOCUMENTS.items()
        for index, (text, _, _) in enumerate(paragraphs)
    ]


@pytest.fixture(scope="module")
def paragraphs(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(make_rows(), SCHEMA).cache()


@pytest.fixture(scope="module")
def cleaned(paragraphs: DataFrame) -> DataFrame:
    return mark_dropped_paragraphs(paragraphs, CONFIG, 3).cache()


def test_reasons(cleaned: DataFrame) -> None:
    verdicts = {(row.doc_id, row.paragraph_index): (row.dropped, row.duplicate_of) for row in cleaned.collect()}
    assert verdicts == {
        (doc_id, index): verdict
        for doc_id, paragraphs in DOCUMENTS.items()
        for index, (_, *reason) in enumerate(paragraphs)
        for verdict in [tuple(reason)]
    }


def test_nothing_else_changes(paragraphs: DataFrame, cleaned: DataFrame) -> None:
    assert cleaned.columns == [*paragraphs.columns, "dropped", "duplicate_of"]
    assert select_kept(cleaned).schema.names == paragraphs.schema.names
    rows_kept, rows_in = select_kept(cleaned).collect(), paragraphs.collect()
    assert len(rows_kept) == 5 and all(row in rows_in for row in rows_kept)


def test_counts_add_up(cleaned: DataFrame) -> None:
    once = "markup_left few_letters repetition duplicate_document near_duplicate_document duplicate_paragraph"
    counts = count_paragraphs(cleaned)
    assert counts == {
        "en": {
            "paragraphs_in": 13,
            "paragraphs_out": 4,
            "dropped": {"too_short": 2, "near_duplicate_paragraph": 1} | dict.fromkeys(once.split(), 1),
        },
        "it": {"paragraphs_in": 1, "paragraphs_out": 0, "dropped": {"wrong_language": 1}},
        "xx": {"paragraphs_in": 1, "paragraphs_out": 1, "dropped": {}},
    }


def test_sample(cleaned: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = sample_dropped(cleaned)
    counted = {reason for language in count_paragraphs(cleaned).values() for reason in language["dropped"]}
    assert list(sample) == [reason for reason in REASONS if reason in counted]
    assert len(sample["too_short"]) == 2
    key = {"doc_id": "en:4", "paragraph_index": 0, "title": "Title en:4"}
    assert sample["duplicate_document"] == [key | {"text": f"{BELL}  {MILL}.", "duplicate_of": "en:3"}]
    # The draw depends only on the ids.
    monkeypatch.setattr(cleaning, "SAMPLE_PARAGRAPHS", 1)
    again = sample_dropped(cleaned.repartition(5))
    assert len(again["too_short"]) == 1
    assert again == sample_dropped(cleaned.coalesce(1))


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 7])
def test_the_same_table_for_any_partitions(spark: SparkSession, cleaned: DataFrame, partitions: int) -> None:
    shuffled = spark.createDataFrame(make_rows()[::-1], SCHEMA).repartition(partitions, "text")
    again = partition_rows(mark_dropped_paragraphs(shuffled, CONFIG, 3))
    assert again == partition_rows(cleaned)
    assert len(again) == 3
    assert all(part == sorted(part, key=lambda row: (row["doc_id"], row["paragraph_index"])) for part in again)


def test_everything_off(paragraphs: DataFrame) -> None:
    nothing: dict[str, Any] = dict.fromkeys(("too_short", "too_long", "few_letters", "repetition", "wrong_language"))
    filters = Filters(markup_left=False, **nothing)
    off = CleaningConfig(filters=filters, duplicate_documents=None, duplicate_paragraphs=None)
    frame = mark_dropped_paragraphs(paragraphs, off, 2)
    assert frame.where("dropped is not null or duplicate_of is not null").count() == 0
    assert select_kept(frame).count() == paragraphs.count()


def test_main_content_and_exact_copies(paragraphs: DataFrame) -> None:
    weights = dict.fromkeys(build_features({}), 0.0) | {"log_characters": 1.0}
    model = MainContentModel(-4.7, weights, {})  # main content has at least 110 characters
    config = dataclasses.replace(CONFIG, main_content=0.5, duplicate_documents=None, duplicate_paragraphs=1.0)
    dropped = count_paragraphs(mark_dropped_paragraphs(paragraphs, config, 2, model))["en"]["dropped"]
    assert dropped == {
        "too_short": 2,
        "markup_left": 1,
        "few_letters": 1,
        "repetition": 1,
        "not_main_content": 2,
        "duplicate_paragraph": 2,
    }
    with pytest.raises(ValueError, match=r"main_content is on, but no main content model"):
        mark_dropped_paragraphs(paragraphs, config, 2)


def test_evaluation_documents_come_first(paragraphs: DataFrame) -> None:
    """The reason applies to all their paragraphs, and they are not originals of duplicates."""
    config = dataclasses.replace(CONFIG, duplicate_paragraphs=None)
    evaluation = EvaluationTexts.from_documents(["title EN:3"], [WELL])
    cleaned = mark_dropped_paragraphs(paragraphs, config, 2, evaluation=evaluation).cache()
    reasons = {(row.doc_id, row.paragraph_index): row.dropped for row in cleaned.collect()}
    assert {key for key, reason in reasons.items() if reason == "evaluation_document"} == {
        ("en:3", 0), *(("en:2", index) for index in range(6))
    }  # fmt: skip
    assert reasons["en:4", 0] is None and reasons["en:5", 0] == "near_duplicate_document"
    assert count_paragraphs(cleaned)["en"]["dropped"]["evaluation_document"] == 7
    assert count_documents(cleaned, "evaluation_document") == 2
    assert len(sample_dropped(cleaned)["evaluation_document"]) == min(SAMPLE_PARAGRAPHS, 7)


@pytest.mark.slow
def test_an_empty_table(spark: SparkSession) -> None:
    cleaned = mark_dropped_paragraphs(spark.createDataFrame([], SCHEMA), CONFIG, 2)
    assert count_paragraphs(cleaned) == {}
    assert sample_dropped(cleaned) == {}


@pytest.mark.parametrize(
    "wrong", [{"filters": {"few_leters": 0.5}}, {"filters": {"few_letters": 1.5}}, {"duplicate_paragraphs": 0}]
)
def test_invalid_settings_raise(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(CleaningConfig).validate_python(wrong)
