"""Sampling of parallel sentences with Spark."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.streams.bitext.sample import bitext_pairs, count_pairs, tables
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import WORDS, save_table, spark_settings, write_files

FILES = 3
SCHEMA = "set string, number bigint, source_lang string, target_lang string, source string, target string"
#: Twenty pairs in each of two sets with the same sources.
ROWS: list[tuple[Any, ...]] = [
    (name, number, "en", lang, " ".join([*(WORDS[(number + i) % len(WORDS)] for i in range(number % 7)), str(number)]),
     f"{WORDS[number % 5]} {lang}{number}")
    for name, lang in (("a", "de"), ("b", "fr")) for number in range(20)
]  # fmt: skip


@pytest.fixture(scope="module")
def bitext(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    nothing = ("b", 20, "en", "fr", WORDS[0], "\u200b")  # a side without a token
    return save_table(spark.createDataFrame([*ROWS, nothing], SCHEMA), tmp_path_factory.mktemp("bitext") / "table")


def test_sides_are_tokenized_cut_and_counted(bitext: DataFrame, vocabulary: Path, tmp_path: Path) -> None:
    made = tables(BitextStreamConfig(files=FILES), Lengths(query=3, document=6), 0)
    (bitext_table,) = made.tables
    assert (bitext_table.name, bitext_table.reads) == ("bitext", ("bitext", "tokenizer"))
    files = write_files(bitext_table.make(bitext, vocabulary), tmp_path / "table")
    assert len(files) == FILES and all(files)
    pairs = {(row["set"], row["number"]): row for rows in files for row in rows}
    tokenizer = load_tokenizer(vocabulary)[0]
    for name, number, source_lang, target_lang, *texts in ROWS:
        row = pairs[name, number]
        assert (row["source_lang"], row["target_lang"]) == (source_lang, target_lang)
        for side, text in zip(("source", "target"), texts, strict=True):
            assert row[side] == tokenizer.encode(text, add_special_tokens=False).ids[:6]
    ids = [{row[f"{side}_id"] for row in pairs.values()} for side in ("source", "target")]
    assert len(ids[0]) == len({row[4] for row in ROWS}) < len(ids[1]) == 40 and not ids[0] & ids[1]
    assert all(pairs["a", n]["source_id"] == pairs["b", n]["source_id"] for n in range(20))
    documents = bitext.sparkSession.createDataFrame([("en:0:1",), ("deu:0:2",)], "doc_id string")
    lengths = [len(row[side]) for row in pairs.values() for side in ("source", "target")]
    assert made.count(bitext.sparkSession.read.parquet(str(tmp_path / "table")), documents) == {
        "without_text": "fr",
        "pairs": 40,
        "languages": {"en-de": 20, "en-fr": 20},
        "tokens": sum(lengths),
        "sides_at_limit": lengths.count(6),
    }
    assert 0 < lengths.count(6) < 80


def test_only_the_seed_decides_the_order(
    spark: SparkSession, bitext: DataFrame, vocabulary: Path, tmp_path: Path
) -> None:
    first, second = (
        write_files(bitext_pairs(bitext, vocabulary, 9, FILES, seed), tmp_path / f"{seed}") for seed in (0, 1)
    )
    assert first != second
    assert [sorted(map(str, rows)) for rows in first] == [sorted(map(str, rows)) for rows in second]
    with spark_settings(spark, spark__sql__shuffle__partitions="7", spark__sql__adaptive__enabled="false"):
        other = bitext_pairs(bitext.repartition(5, "number"), vocabulary, 9, FILES, 0)
        assert write_files(other, tmp_path / "other") == first


def test_missing_pairs_raise_an_error(bitext: DataFrame, vocabulary: Path) -> None:
    made = tables(BitextStreamConfig(), Lengths(9, 9), 0)
    nothing = made.tables[0].make(bitext.where("false"), vocabulary)
    assert count_pairs(nothing, 9) == {"pairs": 0, "languages": {}, "tokens": 0, "sides_at_limit": 0}
    with pytest.raises(ValueError, match="no parallel sentences are left"):
        made.count(nothing, bitext)
