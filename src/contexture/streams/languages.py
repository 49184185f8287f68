"""Sampling of examples in several languages, with a larger share for small languages."""

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.streams.draws import uniform_draw
from contexture.text.language_codes import strip_region
from contexture.vocabulary.languages import repetition_factors

LOG = logging.getLogger(__name__)
#: Column that numbers the copies of a row.
COPY = "copy"


def document_language(document: str) -> Column:
    """Return a column with the language of the document ids in column `document`: the prefix up to ":"."""
    return F.substring_index(document, ":", 1)


def count_without_text(examples: DataFrame, sides: Sequence[str], documents: DataFrame) -> dict[str, str]:
    """Return the languages of examples in which the corpus has no document, as `{"without_text": …}`; {} if none.

    Also logs a warning. Regions are ignored.
    """
    rows = documents.select(document_language("doc_id").alias("language")).distinct().collect()
    covered = {strip_region(row["language"]) for row in rows}
    languages = examples.select(F.explode(F.array(*sides)).alias("language")).distinct().collect()
    missing = sorted(row["language"] for row in languages if strip_region(row["language"]) not in covered)
    if missing:
        LOG.warning("the corpus has no text in %s: the vocabulary may lack its words", ", ".join(missing))
    return {"without_text": ", ".join(missing)} if missing else {}


def resample_languages(rows: DataFrame, document: str, key: Sequence[str], exponent: float, seed: int) -> DataFrame:
    """Return rows in which those of small languages are repeated and some of large ones dropped.

    See `repetition_factors`. A factor of 2.3 repeats a row twice, or three times with probability 0.3, decided by the
    seed and the row's key.

    Args:
        rows: the examples.
        document: the column with document ids.
        key: the columns that identify a row.
        exponent: of the languages' numbers of rows.
        seed: of the choice.

    Returns:
        The rows with the column `copy`, which numbers the copies of a row.
    """
    counts = rows.groupBy(document_language(document).alias("language")).count().collect()
    factors = repetition_factors({row["language"]: row["count"] for row in counts}, exponent)
    factor_by_language = F.create_map(*(F.lit(value) for item in factors.items() for value in item))
    copies = F.floor(
        F.element_at(factor_by_language, document_language(document)) + uniform_draw(seed, "copies", *key)
    ).cast("int")
    return rows.where(copies > 0).withColumn(COPY, F.explode(F.sequence(F.lit(1), copies)))
