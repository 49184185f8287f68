"""Nodes that read labelled pairs of premise and hypothesis."""

import logging
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.nli.config import NliConfig
from contexture.corpus.nli.files import read_pairs
from contexture.demo.config import DEMO
from contexture.demo.translations import XNLI_DIR
from contexture.demo.write import LANGUAGES_DIR

LOG = logging.getLogger(__name__)


def read_nli(config: NliConfig, demo: Path) -> DataFrame:
    """Every pair in every language; `demo` is where the made-up world lies, if it is asked for."""
    assert config.input is not None  # `config.Parameters.check_systems`
    pairs = read_pairs(
        config, demo / LANGUAGES_DIR / XNLI_DIR if config.input == DEMO else Path(config.input).expanduser()
    )
    LOG.info("nli: %s", pairs["lang"].value_counts().sort_index().to_dict())
    return SparkSession.builder.getOrCreate().createDataFrame(pairs)
