"""The table of parallel sentences as token ids, the same however the work is cut up."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.streams.bitext.sample import bitext_pairs, count_pairs, tables
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import WORDS, settings, written

FILES = 3
SCHEMA = "set string, number bigint, source_lang string, target_lang string, source string, target string"


def rows_of() -> list[tuple[Any, ...]]:
    """Forty pairs of two sets; the sources of the first are also those of the second."""
    found: list[tuple[Any, ...]] = []
    for name, lang in (("a", "de"), ("b", "fr")):
        for number in range(20):
            source = " ".join([*(WORDS[(number + place) % len(WORDS)] for place in range(number % 7)), str(number)])
            found.append((name, number, "en", lang, source, f"{WORDS[number % 5]} {lang}{number}"))
    return found


@pytest.fixture(scope="module")
def bitext(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    folder = str(tmp_path_factory.mktemp("bitext") / "table")
    nothing = ("b", 20, "en", "fr", WORDS[0], "\u200b")  # a side without a token
    spark.createDataFrame([*rows_of(), nothing], SCHEMA).write.parquet(folder)
    return spark.read.parquet(folder)


def test_sides_are_tokenized_and_cut(bitext: DataFrame, vocabulary: Path, tmp_path: Path) -> None:
    tokenizer = load_tokenizer(vocabulary)[0]
    files = written(bitext_pairs(bitext, vocabulary, 6, FILES, 0), tmp_path / "a")
    assert len(files) == FILES and all(files)
    found = {(row["set"], row["number"]): row for rows in files for row in rows}
    assert len(found) == 40
    for name, number, source_lang, target_lang, source, target in rows_of():
        row = found[name, number]
        assert (row["source_lang"], row["target_lang"]) == (source_lang, target_lang)
        for side, text in (("source", source), ("target", target)):
            assert row[side] == tokenizer.encode(text, add_special_tokens=False).ids[:6]
    ids = [{row[f"{side}_id"] for row in found.values()} for side in ("source", "target")]
    assert len(ids[0]) == len({row[4] for row in rows_of()}) < len(ids[1]) == 40 and not ids[0] & ids[1]
    assert all(found["a", n]["source_id"] == found["b", n]["source_id"] for n in range(20))


def test_the_seed_draws_the_order_and_nothing_else_does(
    spark: SparkSession, bitext: DataFrame, vocabulary: Path, tmp_path: Path
) -> None:
    first, second = (written(bitext_pairs(bitext, vocabulary, 9, FILES, seed), tmp_path / f"{seed}") for seed in (0, 1))
    assert first != second
    assert [sorted(map(str, rows)) for rows in first] == [sorted(map(str, rows)) for rows in second]
    with settings(spark, spark__sql__shuffle__partitions="7", spark__sql__adaptive__enabled="false"):
        other = bitext_pairs(bitext.repartition(5, "number"), vocabulary, 9, FILES, 0)
        assert written(other, tmp_path / "other") == first


def test_the_stage_makes_one_table_and_counts_it(bitext: DataFrame, vocabulary: Path, tmp_path: Path) -> None:
    made = tables(BitextStreamConfig(files=FILES), Lengths(query=3, document=6), 0)
    (one,) = made.tables
    assert (one.name, one.reads) == ("bitext", ("bitext", "tokenizer"))
    rows = [row for file in written(one.make(bitext, vocabulary), tmp_path / "table") for row in file]
    documents = bitext.sparkSession.createDataFrame([("en:0:1",), ("deu:0:2",)], "doc_id string")
    counts = made.count(bitext.sparkSession.read.parquet(str(tmp_path / "table")), documents)
    assert counts == {
        "without_text": "fr",
        "pairs": 40,
        "languages": {"en-de": 20, "en-fr": 20},
        "tokens": sum(len(row["source"]) + len(row["target"]) for row in rows),
        "sides_at_limit": sum(len(row[side]) == 6 for row in rows for side in ("source", "target")),
    }
    assert counts["sides_at_limit"] > 0


def test_nothing_to_learn_from_is_refused(bitext: DataFrame, vocabulary: Path) -> None:
    made = tables(BitextStreamConfig(), Lengths(9, 9), 0)
    nothing = made.tables[0].make(bitext.where("false"), vocabulary)
    assert count_pairs(nothing, 9) == {"pairs": 0, "languages": {}, "tokens": 0, "sides_at_limit": 0}
    with pytest.raises(ValueError, match="no pair of parallel sentences is left"):
        made.count(nothing, bitext)
