"""Examples of several languages, of which small ones get a larger share (CMLM, section 4)."""

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from contexture.streams.draws import drawn
from contexture.text.language_codes import without_region
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
    there = {without_region(row["language"]) for row in rows}
    told = examples.select(F.explode(F.array(*sides)).alias("language")).distinct().collect()
    found = sorted(row["language"] for row in told if without_region(row["language"]) not in there)
    if found:
        LOG.warning("the corpus has no text in %s: the vocabulary may not know its words", ", ".join(found))
    return {"without_text": ", ".join(found)} if found else {}


def smoothed(rows: DataFrame, document: str, place: Sequence[str], exponent: float, seed: int) -> DataFrame:
    """Rows with a column `copy`: those of small languages several times, of large ones not all; see `times_taken`.

    `document` is the column with the ids of their documents, `place` those that name a row. One that is to be taken 2.3
    times is taken twice, or three times with probability 0.3, a function of the seed and its place alone.
    """
    found = rows.groupBy(language_of(document).alias("language")).count().collect()
    times = times_taken({row["language"]: row["count"] for row in found}, exponent)
    taken = F.element_at(F.create_map(*(F.lit(one) for pair in times.items() for one in pair)), language_of(document))
    copies = F.floor(taken + drawn(seed, "copies", *place)).cast("int")
    return rows.where(copies > 0).withColumn(COPY, F.explode(F.sequence(F.lit(1), copies)))
