"""Examples of several languages, of which small ones get a larger share (CMLM, section 4)."""

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.streams.draws import drawn
from contexture.text.language_codes import strip_region
from contexture.vocabulary.languages import times_taken

LOG = logging.getLogger(__name__)
#: Column that tells the copies of a row apart.
COPY = "copy"


def language_of(document: str) -> Column:
    """The language of the document whose id is in this column: ids begin with it."""
    return F.substring_index(document, ":", 1)


def without_text(examples: DataFrame, sides: Sequence[str], documents: DataFrame) -> dict[str, str]:
    """The count `without_text`: the languages in columns of examples that no document is in; none where all have some.

    They are warned of, too. Regions make no difference.
    """
    rows = documents.select(language_of("doc_id").alias("language")).distinct().collect()
    known = {strip_region(row["language"]) for row in rows}
    languages = examples.select(F.explode(F.array(*sides)).alias("language")).distinct().collect()
    unknown = sorted(row["language"] for row in languages if strip_region(row["language"]) not in known)
    if unknown:
        LOG.warning("the corpus has no text in %s: the vocabulary may not know its words", ", ".join(unknown))
    return {"without_text": ", ".join(unknown)} if unknown else {}


def smoothed(rows: DataFrame, document: str, key: Sequence[str], exponent: float, seed: int) -> DataFrame:
    """Rows with a column `copy`: those of small languages several times, of large ones not all; see `times_taken`.

    `document` is the column with the ids of their documents, `key` those that identify a row. A row that is due 2.3
    times comes twice, or three times with probability 0.3, a function of the seed and its key alone.
    """
    counts = rows.groupBy(language_of(document).alias("language")).count().collect()
    times = times_taken({row["language"]: row["count"] for row in counts}, exponent)
    by_language = F.create_map(*(F.lit(value) for item in times.items() for value in item))
    copies = F.floor(F.element_at(by_language, language_of(document)) + drawn(seed, "copies", *key)).cast("int")
    return rows.where(copies > 0).withColumn(COPY, F.explode(F.sequence(F.lit(1), copies)))
