"""Nodes that read and clean parallel sentences."""

import logging
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.bitext import table
from contexture.corpus.bitext.config import BitextConfig

LOG = logging.getLogger(__name__)


def read_bitext(config: BitextConfig) -> DataFrame:
    """Every pair of every set."""
    return table.read(SparkSession.builder.getOrCreate(), config)


def clean_bitext(config: BitextConfig, found: DataFrame) -> tuple[DataFrame, dict[str, Any]]:
    """The pairs worth learning from, and the counts of all by set; what looks wrong is warned of."""
    from contexture.corpus.duplicates import on_disk

    cleaned = on_disk(table.clean(found, config))
    counts = table.report(cleaned, config)
    for name, one in counts.items():
        LOG.info("bitext %s: %s", name, one)
        if one["same_language"]:
            LOG.warning(
                "bitext %s: its sides, told to be %s, seem to be of one language: their trigrams have a cosine of %s",
                name, " and ".join(one["languages"]), one["likeness"],
            )  # fmt: skip
        if not one["pairs_out"]:
            LOG.warning("bitext %s: no pair is left of %d: %s", name, one["pairs_in"], one["dropped"])
    return table.kept(cleaned), counts
