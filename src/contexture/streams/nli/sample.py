"""Sampling of premises and hypotheses in different languages (CMLM, section 4.3): one shuffled row per pair."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.draws import shuffle_into_files, uniform_draw
from contexture.streams.languages import count_without_text
from contexture.streams.nli.config import NliStreamConfig
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import tokenize_columns

SIDES = ("premise", "hypothesis")
_KEY = ("number", *(f"{side}_lang" for side in SIDES))


def nli_pairs(nli: DataFrame, vocabulary_dir: Path, max_tokens: int, per_pair: int, files: int, seed: int) -> DataFrame:
    """Return tokenized premises and hypotheses in up to `per_pair` random combinations of two languages per pair.

    Columns: `number`, `premise_lang`, `hypothesis_lang`, `premise` and `hypothesis` (token ids cut at `max_tokens`) and
    `label`. The choice is a function of the seed and the pair. Pairs with a side without tokens are dropped. The table
    is shuffled by `shuffle_into_files`. The same pairs and seed give the same rows on any number of cores.
    """
    tokens = tokenize_columns(nli, SIDES, vocabulary_dir)
    premise, hypothesis = (
        tokens.where(F.size(f"{side}_tokens") > 0).select(
            "number",
            "label",
            F.col("lang").alias(f"{side}_lang"),
            F.slice(f"{side}_tokens", 1, max_tokens).alias(side),
        )
        for side in SIDES
    )
    both = premise.join(hypothesis.drop("label"), "number").where("premise_lang <> hypothesis_lang")
    order = Window.partitionBy("number").orderBy(uniform_draw(seed, "languages", *_KEY), *_KEY)
    chosen = both.withColumn("choice", F.row_number().over(order)).where(F.col("choice") <= per_pair)
    return shuffle_into_files(chosen.select(*_KEY, *SIDES, "label"), files, seed, *_KEY)


def count_pairs(pairs: DataFrame) -> dict[str, Any]:
    """Count pairs of premise and hypothesis, in total and by languages."""
    languages = F.concat_ws("-", "premise_lang", "hypothesis_lang").alias("languages")
    rows = pairs.groupBy(languages).count().orderBy("languages").collect()
    return {"pairs": sum(row["count"] for row in rows), "languages": {row["languages"]: row["count"] for row in rows}}


def tables(config: NliStreamConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define the table of tokenized premises and hypotheses, cut to the length of a document, and its counts."""

    def make_pairs(nli: DataFrame, tokenizer: Path) -> DataFrame:
        """Return tokenized premises and hypotheses in random combinations of two languages; see `nli_pairs`."""
        return nli_pairs(nli, tokenizer, lengths.document, config.per_pair, config.files, seed)

    def count_examples(examples: DataFrame, documents: DataFrame) -> dict[str, Any]:
        """Return the counts of the pairs and their languages without text in the corpus."""
        return count_pairs(examples) | count_without_text(examples, [f"{side}_lang" for side in SIDES], documents)

    return ExampleTables([ExampleTable("nli", make_pairs, ("nli", "tokenizer"))], count_examples)
