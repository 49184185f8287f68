"""Rows of several languages in shares that are smoothed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from contexture.sampling.languages import COPY, smoothed, times_taken


def rows_of(spark: SparkSession, counts: dict[str, int]) -> DataFrame:
    rows = [(f"{language}:{number}", number) for language, count in counts.items() for number in range(count)]
    return spark.createDataFrame(rows, "document string, position int")


def test_how_often_by_hand() -> None:
    """1 : 10 of 10,100 rows are 918.2 and 9,181.8."""
    found = times_taken({"small": 100, "large": 10_000}, 0.5)
    assert found == pytest.approx({"small": 9.181818, "large": 0.9181818})
    assert times_taken({"small": 100, "large": 10_000}, 1.0) == pytest.approx({"small": 1.0, "large": 1.0})


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 10**9), min_size=1), st.floats(0.01, 1))
def test_as_many_as_before_and_in_proportion(counts: dict[str, int], exponent: float) -> None:
    taken = {language: times * counts[language] for language, times in times_taken(counts, exponent).items()}
    assert sum(taken.values()) == pytest.approx(sum(counts.values()))
    scale = [taken[language] / count**exponent for language, count in counts.items()]
    assert max(scale) == pytest.approx(min(scale))


def test_languages_by_counts(spark: SparkSession) -> None:
    counts = {"en": 3000, "fr": 300, "el": 30}
    found = smoothed(rows_of(spark, counts), "document", ("document", "position"), 0.3, 7)
    taken = [(row["document"], row[COPY]) for row in found.collect()]
    by_language = Counter(document.split(":")[0] for document, _ in taken)
    weights = {language: count**0.3 for language, count in counts.items()}
    for language, weight in weights.items():
        assert by_language[language] == pytest.approx(3330 * weight / sum(weights.values()), rel=0.05)
    assert len(set(taken)) == len(taken)
    copies = Counter(document for document, _ in taken if document.startswith("el"))
    assert len(copies) == 30 and max(copies.values()) - min(copies.values()) <= 1
    assert max(copy for _, copy in taken) == max(copies.values())


def test_the_same_on_any_number_of_partitions(spark: SparkSession) -> None:
    rows, place = rows_of(spark, {"en": 400, "fr": 40}), ("document", "position")
    found = [
        sorted(map(tuple, smoothed(rows.repartition(count), "document", place, 0.5, 7).collect())) for count in (1, 5)
    ]
    assert found[0] == found[1]
    assert sorted(map(tuple, smoothed(rows, "document", place, 0.5, 8).collect())) != found[0]
