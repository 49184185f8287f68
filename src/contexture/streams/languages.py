"""Examples of several languages, of which small ones get a larger share (CMLM, section 4)."""

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.streams.draws import uniform_draw
from contexture.text.language_codes import without_region
from contexture.vocabulary.languages import repetition_factors

LOG = logging.getLogger(__name__)
#: Column that tells the copies of a row apart.
COPY = "copy"


def document_language(document: str) -> Column:
    """The language of the document whose id is in this column: ids begin with it."""
    return F.substring_index(document, ":", 1)


def count_without_text(examples: DataFrame, sides: Sequence[str], documents: DataFrame) -> dict[str, str]:
    """The count `count_without_text`: the languages in columns of examples that no document is in; none where all have some.

    They are warned of, too. Regions make no difference.
    """
    rows = documents.select(document_language("doc_id").alias("language")).distinct().collect()
    covered = {without_region(row["language"]) for row in rows}
    languages = examples.select(F.explode(F.array(*sides)).alias("language")).distinct().collect()
    missing = sorted(row["language"] for row in languages if without_region(row["language"]) not in covered)
    if missing:
        LOG.warning("the corpus has no text in %s: the vocabulary may not know its words", ", ".join(missing))
    return {"without_text": ", ".join(missing)} if missing else {}


def resample_languages(rows: DataFrame, document: str, key: Sequence[str], exponent: float, seed: int) -> DataFrame:
    """Rows with a column `copy`: those of small languages several times, of large ones not all; see `repetition_factors`.

    `document` is the column with the ids of their documents, `key` those that identify a row. A row that is due 2.3
    times comes twice, or three times with probability 0.3, a function of the seed and its key alone.
    """
    counts = rows.groupBy(document_language(document).alias("language")).count().collect()
    factors = repetition_factors({row["language"]: row["count"] for row in counts}, exponent)
    factor_by_language = F.create_map(*(F.lit(value) for item in factors.items() for value in item))
    copies = F.floor(
        F.element_at(factor_by_language, document_language(document)) + uniform_draw(seed, "copies", *key)
    ).cast("int")
    return rows.where(copies > 0).withColumn(COPY, F.explode(F.sequence(F.lit(1), copies)))
