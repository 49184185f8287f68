"""Sampling of parallel sentences: one shuffled row of token ids per pair."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.streams.draws import shuffle_into_files
from contexture.streams.languages import count_without_text
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import tokenize_columns

SIDES = ("source", "target")
_KEY = ("set", "number")


def bitext_pairs(bitext: DataFrame, vocabulary_dir: Path, max_tokens: int, files: int, seed: int) -> DataFrame:
    """Tokenize parallel sentences into a shuffled table of one row per pair.

    Columns: `set`, `number`, `source_lang`, `target_lang`, `source` and `target` (token ids cut at `max_tokens`),
    `source_id` and `target_id` (equal for equal sentences, which may have several translations). Pairs with a side
    without tokens are dropped. The table is shuffled by `shuffle_into_files`. The same bitext and seed give the same
    rows on any number of cores.
    """
    tokens = tokenize_columns(bitext, SIDES, vocabulary_dir)
    pairs = tokens.where(" and ".join(f"size({side}_tokens) > 0" for side in SIDES)).select(
        *_KEY,
        "source_lang",
        "target_lang",
        *(F.slice(f"{side}_tokens", 1, max_tokens).alias(side) for side in SIDES),
        *(F.xxhash64(side).alias(f"{side}_id") for side in SIDES),
    )
    return shuffle_into_files(pairs, files, seed, *_KEY)


def count_pairs(pairs: DataFrame, max_tokens: int) -> dict[str, Any]:
    """Count pairs (in total and by languages), tokens, and sentences at the length limit, most of which were cut."""
    at_limit = " + ".join(f"count_if(size({side}) = {max_tokens})" for side in SIDES)
    rows = (
        pairs.groupBy(F.concat_ws("-", "source_lang", "target_lang").alias("languages"))
        .agg(
            F.count("*").alias("pairs"),
            F.expr("sum(size(source) + size(target))").alias("tokens"),
            F.expr(at_limit).alias("sides_at_limit"),
        )
        .orderBy("languages")
        .collect()
    )
    return {
        "pairs": sum(row["pairs"] for row in rows),
        "languages": {row["languages"]: row["pairs"] for row in rows},
        "tokens": sum(row["tokens"] for row in rows),
        "sides_at_limit": sum(row["sides_at_limit"] for row in rows),
    }


def tables(config: BitextStreamConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define the table of tokenized parallel sentences, cut to the length of a document, and its counts."""

    def make_pairs(bitext: DataFrame, tokenizer: Path) -> DataFrame:
        return bitext_pairs(bitext, tokenizer, lengths.document, config.files, seed)

    def count_examples(examples: DataFrame, documents: DataFrame) -> dict[str, Any]:
        """Return the counts of the pairs and their languages without text in the corpus; ValueError without pairs."""
        counts = count_pairs(examples, lengths.document)
        if not counts["pairs"]:
            raise ValueError("no parallel sentences are left: see the counts in data/08_reporting/corpus/bitext.json")
        return counts | count_without_text(examples, ("source_lang", "target_lang"), documents)

    return ExampleTables([ExampleTable("bitext", make_pairs, ("bitext", "tokenizer"))], count_examples)
