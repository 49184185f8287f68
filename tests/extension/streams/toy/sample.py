"""Sampling of sentences: documents to one row per sentence."""

from contexture.streams.toy.config import ToyStreamConfig
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.encoders.config import Lengths
from contexture.streams.tables import ExampleTable, ExampleTables
from contexture.streams.tokens import select_sentences


def tables(config: ToyStreamConfig, lengths: Lengths, seed: int) -> ExampleTables:
    """Define the table of sentences and its count."""

    def sample(documents: DataFrame) -> DataFrame:
        sentences = select_sentences(documents).select(F.explode(F.flatten("sentences")).alias("tokens"))
        return sentences.select(F.slice("tokens", 1, lengths.document).alias("tokens")).coalesce(1)

    def count(examples: DataFrame, documents: DataFrame) -> dict[str, int]:
        return {"toy_sentences": examples.count()}

    return ExampleTables([ExampleTable("toy", sample, ("documents",))], count)
