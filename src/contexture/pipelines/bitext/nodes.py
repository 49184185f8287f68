"""Nodes that read and clean parallel sentences."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.bitext import table
from contexture.corpus.bitext.config import BitextConfig, BitextSet
from contexture.demo.config import DEMO, DemoConfig
from contexture.demo.languages import language_codes
from contexture.demo.translations import bitext_names
from contexture.demo.write import LANGUAGES_DIR

LOG = logging.getLogger(__name__)


def read_bitext(config: BitextConfig, world: DemoConfig, demo: Path) -> DataFrame:
    """Every pair of every set; `demo` is where the made-up world lies, if it is asked for."""
    return table.read(SparkSession.builder.getOrCreate(), placed(config, world, demo))


def clean_bitext(
    config: BitextConfig, world: DemoConfig, demo: Path, found: DataFrame
) -> tuple[DataFrame, dict[str, Any]]:
    """The pairs worth learning from, and the counts of all by set; what looks wrong is warned of."""
    from contexture.corpus.duplicates import on_disk

    cleaned = on_disk(table.clean(found))
    counts = table.report(cleaned, placed(config, world, demo))
    for name, one in counts.items():
        LOG.info("bitext %s: %s", name, one)
        if one["same_language"]:
            LOG.warning(
                "bitext %s: its sides, told to be %s, seem to be of one language", name, " and ".join(one["languages"])
            )
        if not one["pairs_out"]:
            LOG.warning("bitext %s: no pair is left of %d: %s", name, one["pairs_in"], one["dropped"])
    return table.kept(cleaned), counts


def placed(config: BitextConfig, world: DemoConfig, demo: Path) -> BitextConfig:
    """The same with the files of the made-up world, a set for each language, where these are asked for."""
    if config.input != DEMO:
        return config
    sets = {}
    for code in language_codes(world.languages):
        sets[f"demo_{code}"] = BitextSet(
            [str(demo / LANGUAGES_DIR / name) for name in bitext_names(code)], ("en", code)
        )
    return replace(config, input=sets)
