"""Sampling of premises and hypotheses in different languages with Spark."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.encoders.config import Lengths
from contexture.streams.nli.config import NliStreamConfig
from contexture.streams.nli.sample import nli_pairs, tables
from contexture.vocabulary.tokenizers import load_tokenizer
from tests.streams.make import WORDS, save_table, spark_settings, write_files

LANGUAGES, PAIRS, FILES = ("de", "en", "fr"), 30, 3
SCHEMA = "premise string, hypothesis string, label int, number bigint, lang string"


def text(side: str, lang: str, number: int) -> str:
    return " ".join([WORDS[number % len(WORDS)], side, lang, *WORDS[: number % 7], str(number)])


@pytest.fixture(scope="module")
def nli(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    rows = [
        (text("premise", lang, number), text("hypothesis", lang, number), number % 3, number, lang)
        for number in range(PAIRS)
        for lang in LANGUAGES
    ]
    without_tokens = [("\u200b", "\u200b", 0, PAIRS, "de"), ("word", "\u200b", 0, PAIRS, "en")]
    made = spark.createDataFrame([*rows, *without_tokens], SCHEMA)
    return save_table(made, tmp_path_factory.mktemp("nli") / "table")


@pytest.mark.parametrize(("per_pair", "choices"), [pytest.param(1, 1, marks=pytest.mark.slow), (9, 6)])
def test_sides_have_different_languages(nli: DataFrame, vocabulary: Path, per_pair: int, choices: int) -> None:
    made = tables(NliStreamConfig(per_pair=per_pair, files=FILES), Lengths(query=3, document=6), 0)
    (nli_table,) = made.tables
    assert (nli_table.name, nli_table.reads) == ("nli", ("nli", "tokenizer"))
    pairs = nli_table.make(nli, vocabulary).cache()
    rows, tokenizer = pairs.collect(), load_tokenizer(vocabulary)[0]
    chosen = {(row["number"], row["premise_lang"], row["hypothesis_lang"]) for row in rows}
    assert len(chosen) == len(rows) == PAIRS * choices
    assert Counter(row["number"] for row in rows) == dict.fromkeys(range(PAIRS), choices)
    for row in rows:
        assert row["premise_lang"] != row["hypothesis_lang"] and row["label"] == row["number"] % 3
        for side in ("premise", "hypothesis"):
            whole = text(side, row[f"{side}_lang"], row["number"])
            assert row[side] == tokenizer.encode(whole, add_special_tokens=False).ids[:6]
    documents = nli.sparkSession.createDataFrame([("en:0:1",), ("de:0:2",)], "doc_id string")
    assert made.count(pairs, documents) == {
        "pairs": len(rows),
        "languages": Counter(f"{row['premise_lang']}-{row['hypothesis_lang']}" for row in rows),
        "without_text": "fr",
    }


def test_language_combinations_are_equally_likely(nli: DataFrame, vocabulary: Path) -> None:
    rows = [row for seed in range(3) for row in nli_pairs(nli, vocabulary, 6, 2, 1, seed).collect()]
    counts = Counter((row["premise_lang"], row["hypothesis_lang"]) for row in rows)
    assert len(counts) == 6 and all(abs(count - 30) < 18 for count in counts.values())  # ±4 standard deviations


@pytest.mark.slow
def test_only_the_seed_decides_the_choice(
    spark: SparkSession, nli: DataFrame, vocabulary: Path, tmp_path: Path
) -> None:
    first, second = (
        write_files(nli_pairs(nli, vocabulary, 9, 2, FILES, seed), tmp_path / f"{seed}") for seed in (0, 1)
    )
    assert first != second
    with spark_settings(spark, spark__sql__shuffle__partitions="7", spark__sql__adaptive__enabled="false"):
        other = nli_pairs(nli.repartition(5, "lang"), vocabulary, 9, 2, FILES, 0)
        assert write_files(other, tmp_path / "other") == first
