"""Nodes that read labelled pairs of premise and hypothesis."""

import logging
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.nli.config import NliConfig
from contexture.corpus.nli.files import read_pairs
from contexture.demo.config import DEMO
from contexture.demo.translations import XNLI
from contexture.demo.write import LANGUAGES

LOG = logging.getLogger(__name__)


def read_nli(config: NliConfig, demo_dir: Path) -> DataFrame:
    """Read all pairs in all languages; `demo_dir` has the made-up world, if it is read."""
    assert config.input is not None  # `config.Parameters.check_systems`
    folder = demo_dir / LANGUAGES / XNLI if config.input == DEMO else Path(config.input).expanduser()
    pairs = read_pairs(config, folder)
    LOG.info("nli: %s", pairs["lang"].value_counts().sort_index().to_dict())
    return SparkSession.builder.getOrCreate().createDataFrame(pairs)
