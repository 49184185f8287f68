"""Resampling of rows in several languages."""

from collections import Counter

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.streams.languages import COPY, count_without_text, resample_languages


def rows_of(spark: SparkSession, counts: dict[str, int]) -> DataFrame:
    rows = [(f"{language}:{number}", number) for language, count in counts.items() for number in range(count)]
    return spark.createDataFrame(rows, "document string, position int")


def test_languages_are_resampled_in_proportion(spark: SparkSession) -> None:
    counts = {"en": 3000, "fr": 300, "el": 30}
    smooth = resample_languages(rows_of(spark, counts), "document", ("document", "position"), 0.3, 7)
    copied = [(row["document"], row[COPY]) for row in smooth.collect()]
    by_language = Counter(document.split(":")[0] for document, _ in copied)
    weights = {language: count**0.3 for language, count in counts.items()}
    for language, weight in weights.items():
        assert by_language[language] == pytest.approx(3330 * weight / sum(weights.values()), rel=0.05)
    assert len(set(copied)) == len(copied)
    copies = Counter(document for document, _ in copied if document.startswith("el"))
    assert len(copies) == 30 and max(copies.values()) - min(copies.values()) <= 1
    assert max(copy for _, copy in copied) == max(copies.values())


def test_resampling_does_not_depend_on_partitions(spark: SparkSession) -> None:
    rows, key = rows_of(spark, {"en": 400, "fr": 40}), ("document", "position")
    results = [
        sorted(map(tuple, resample_languages(rows.repartition(count), "document", key, 0.5, 7).collect()))
        for count in (1, 5)
    ]
    assert results[0] == results[1]
    assert sorted(map(tuple, resample_languages(rows, "document", key, 0.5, 8).collect())) != results[0]


def test_languages_without_text_are_reported_without_regions(spark: SparkSession) -> None:
    examples = spark.createDataFrame([("en-GB", "pt-BR"), ("en", "zh-Hant")], "one string, other string")
    documents = spark.createDataFrame([("EN:0",), ("pt:0",)], "doc_id string")
    assert count_without_text(examples, ("one", "other"), documents) == {"without_text": "zh-Hant"}
    assert count_without_text(examples.limit(1), ("one", "other"), documents) == {}
