"""Nodes that read and clean parallel sentences."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.bitext import table
from contexture.corpus.bitext.config import BitextConfig, BitextSet
from contexture.demo.config import DEMO, DemoConfig
from contexture.demo.languages import codes
from contexture.demo.translations import bitext_names
from contexture.demo.write import LANGUAGES

LOG = logging.getLogger(__name__)


def read_bitext(config: BitextConfig, world: DemoConfig, demo_dir: Path) -> DataFrame:
    """Read the pairs of all sets; `demo_dir` has the made-up world, if it is read."""
    return table.read(SparkSession.builder.getOrCreate(), locate_demo_sets(config, world, demo_dir))


def clean_bitext(
    config: BitextConfig, world: DemoConfig, demo_dir: Path, pairs: DataFrame
) -> tuple[DataFrame, dict[str, Any]]:
    """Return the pairs to learn from and the counts of each set; warn about sets that look wrong."""
    from contexture.corpus.duplicates import on_disk

    config = locate_demo_sets(config, world, demo_dir)
    cleaned = on_disk(table.clean(pairs, config))
    report = table.report(cleaned, config)
    for name, counts in report.items():
        LOG.info("bitext %s: %s", name, counts)
        if counts["same_language"]:
            languages = " and ".join(counts["languages"])
            LOG.warning("bitext %s: its sides should be %s, but seem to be in one language", name, languages)
        if not counts["pairs_out"]:
            LOG.warning("bitext %s: no pair is left of %d: %s", name, counts["pairs_in"], counts["dropped"])
    return table.kept(cleaned), report


def locate_demo_sets(config: BitextConfig, world: DemoConfig, demo_dir: Path) -> BitextConfig:
    """Replace the input `demo` by a set of files for each language of the made-up world."""
    if config.input != DEMO:
        return config
    sets = {}
    for code in codes(world.languages):
        files = [str(demo_dir / LANGUAGES / name) for name in bitext_names(code)]
        sets[f"demo_{code}"] = BitextSet(files, ("en", code))
    return replace(config, input=sets)
