"""Duplicates on Spark against a slow exact loop, whatever the partitions, and however often a text occurs."""

import random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.duplicates import _find_candidates, find_duplicates
from contexture.text.minhash import jaccard
from contexture.text.quality import normalize_text

Text = tuple[str, str, str]


def make_table(spark: SparkSession, texts: list[Text], partitions: int = 2) -> DataFrame:
    return spark.createDataFrame(texts, "id string, lang string, text string").repartition(partitions)


def as_dict(frame: DataFrame) -> dict[str, tuple[str, bool]]:
    rows = frame.collect()
    assert len({row.id for row in rows}) == len(rows)
    return {row.id: (row.original, row.exact) for row in rows}


def find_by_brute_force(texts: list[Text], similarity: float) -> dict[str, tuple[str, bool]]:
    """Return the result of `find_duplicates` by comparing all pairs of texts."""
    firsts: dict[tuple[str, str], str] = {}
    repeated = {}
    for id_, lang, text in sorted(texts):
        first = firsts.setdefault((lang, normalize_text(text)), id_)
        if first != id_:
            repeated[id_] = first, True
    unique = sorted((id_, lang, text) for (lang, text), id_ in firsts.items())
    for number, (id_, lang, text) in enumerate(unique):
        earlier = (row for row in unique[:number] if row[1] == lang)
        near = [other for other, _, repeated_text in earlier if jaccard(repeated_text, text) >= similarity]
        if near and similarity < 1:
            repeated[id_] = near[0], False
    return repeated


@pytest.mark.slow
def test_against_the_slow_loop(spark: SparkSession) -> None:
    """Three hundred small corpora of few words cover all cases. Each has its own language, so one job reads all."""
    draw = random.Random(4)
    words = ["sea", "Sea", "old", "ferry", "ﬁne", "fine"]
    texts = [
        (f"{number:02}", f"language {corpus}", " ".join(draw.choices(words, k=draw.randint(0, 9))))
        for corpus in range(300)
        for number in range(draw.randint(1, 12))
    ]
    named = [(f"{lang}:{number}", lang, text) for number, lang, text in texts]
    for similarity in (0.5, 1.0):
        expected = find_by_brute_force(named, similarity)
        assert {exact for _, exact in expected.values()} == ({True, False} if similarity < 1 else {True})
        assert as_dict(find_duplicates(make_table(spark, named), similarity)) == expected


def make_variants(draw: random.Random, count: int) -> list[Text]:
    """Return random texts with copies, some exact and some with a few changed words."""
    texts: list[str] = []
    for _ in range(count):
        words = [f"w{draw.randrange(300)}" for _ in range(draw.randint(30, 90))]
        texts.append(" ".join(words))
        for _ in range(draw.choice((0, 1, 2))):
            changed = list(words)
            for _ in range(draw.choice((0, 1, 1, 2, 4))):
                changed[draw.randrange(len(words))] = f"w{draw.randrange(300)}"
            texts.append(" ".join(changed))
    draw.shuffle(texts)
    return [(f"{number:05}", "en", text) for number, text in enumerate(texts)]


@pytest.mark.slow
def test_recall_and_precision(spark: SparkSession) -> None:
    texts = make_variants(random.Random(1), 300)
    expected = find_by_brute_force(texts, 0.8)
    near = {id_ for id_, (_, exact) in expected.items() if not exact}
    assert len(near) > 60
    dropped = as_dict(find_duplicates(make_table(spark, texts), 0.8))
    assert dropped.keys() <= expected.keys()
    assert len(dropped.keys() & near) >= 0.98 * len(near)
    assert {id_ for id_, (_, exact) in dropped.items() if exact} == expected.keys() - near


@pytest.mark.slow
def test_the_same_for_any_partitions(spark: SparkSession) -> None:
    texts = make_variants(random.Random(2), 60)
    once = as_dict(find_duplicates(make_table(spark, texts, 1), 0.7))
    random.Random(3).shuffle(texts)
    assert once
    assert as_dict(find_duplicates(make_table(spark, texts, 7), 0.7)) == once


@pytest.mark.slow
def test_one_text_a_hundred_thousand_times(spark: SparkSession) -> None:
    texts = spark.range(100_000).selectExpr(
        "lpad(string(id), 6, '0') as id", "'en' as lang", "'See the article on the harbour.' as text"
    )
    repeated = find_duplicates(texts, 0.8)
    assert repeated.count() == 99_999
    assert {row.original for row in repeated.select("original").distinct().collect()} == {"000000"}


@pytest.mark.slow
def test_a_band_that_all_texts_share_gives_two_pairs_a_text(spark: SparkSession) -> None:
    rows: list[Any] = [(f"{number:04}", "en", [7, 8]) for number in range(1_000)]
    pairs = _find_candidates(spark.createDataFrame(rows, "id string, lang string, bands array<bigint>")).collect()
    assert len(pairs) == 999 + 998
    assert all(pair.original in ("0000", f"{int(pair.id) - 1:04}") for pair in pairs)


@pytest.mark.slow
def test_empty_texts(spark: SparkSession) -> None:
    assert as_dict(find_duplicates(make_table(spark, [("a", "en", ""), ("b", "en", " ")]), 0.8)) == {"b": ("a", True)}
