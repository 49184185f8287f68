"""Nodes of the stage `corpus`."""

from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame, SparkSession

from contexture.corpus.config import CorpusConfig
from contexture.corpus.exports import ExportFile
from contexture.corpus.pages import read_pages


def parse_pages(sources: dict[str, Any], corpus: dict[str, Any]) -> DataFrame:
    """Every page of the exports, with its paragraphs or the reason why it was dropped."""
    exports = [ExportFile.from_dict(file) for file in sources["corpus"]]
    config = TypeAdapter(CorpusConfig).validate_python(corpus)
    return read_pages(SparkSession.builder.getOrCreate(), exports, config)
