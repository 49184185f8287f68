"""Nodes of the stage `examples` of Quick-Thoughts."""

import logging
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from contexture.config import QuickThoughtsParameters
from contexture.sampling.sentences import contiguous_sentences, count_sentences

LOG = logging.getLogger(__name__)


def parameters_of(system: dict[str, Any]) -> QuickThoughtsParameters:
    """Typed parameters of Quick-Thoughts."""
    return TypeAdapter(QuickThoughtsParameters).validate_python(system)


def order(documents: DataFrame, system: dict[str, Any]) -> DataFrame:
    """All sentences in the order of the corpus."""
    config = parameters_of(system)
    return contiguous_sentences(documents, config.layout.sentence_words, config.sampling_files, config.sampling_seed)


def count(documents: DataFrame, examples: Path, system: dict[str, Any]) -> dict[str, int]:
    """Counts of what is read and of what is left out; `examples` is there to wait for."""
    counts = count_sentences(documents, parameters_of(system).layout.sentence_words)
    LOG.info("sentences: %s", counts)
    if not counts["sentences"]:
        raise ValueError(f"no document of the corpus has two sentences, hence none has a neighbour: {counts}")
    return counts


def training_config(system: dict[str, Any]) -> dict[str, Any]:
    """The one file that `python -m contexture.training` needs beside the sentences."""
    return parameters_of(system).training()
