"""Nodes of the stage `corpus`."""

import logging
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame, SparkSession

from contexture.corpus import pages as rooms
from contexture.corpus.config import CorpusConfig
from contexture.corpus.sources.protocol import SourceFile

LOG = logging.getLogger(__name__)


def parse_pages(sources: dict[str, Any], corpus: dict[str, Any]) -> DataFrame:
    """Every page of the sources, with its paragraphs or the reason why it was dropped."""
    files = TypeAdapter(list[SourceFile]).validate_python(sources["corpus"])
    return rooms.read_pages(SparkSession.builder.getOrCreate(), files, typed(corpus))


def select_paragraphs(pages: DataFrame, corpus: dict[str, Any]) -> DataFrame:
    """The paragraphs of the pages that were kept."""
    return rooms.paragraphs(pages, typed(corpus))


def report_corpus(pages: DataFrame) -> dict[str, Any]:
    """Counts; ValueError where no paragraph is left."""
    counts = rooms.report(pages)
    LOG.info("corpus: %s", counts)
    if not counts["paragraphs_out"]:
        raise ValueError(f"the corpus holds no paragraph: {counts}; is corpus.input the right file?")
    return counts


def typed(corpus: dict[str, Any]) -> CorpusConfig:
    """Typed parameters."""
    return TypeAdapter(CorpusConfig).validate_python(corpus)
