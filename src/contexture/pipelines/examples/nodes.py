"""Nodes of the stage `examples`."""

import logging
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter
from pyspark.sql import DataFrame, Observation

from contexture.config import MsppParameters
from contexture.systems.mspp.examples import count_mspp, sample_mspp
from contexture.tasks.answer_selection.data import encode_answers
from contexture.vocabulary.tokenizers import load_tokenizer

LOG = logging.getLogger(__name__)


def parameters_of(system: dict[str, Any]) -> MsppParameters:
    """Typed parameters of a system."""
    return TypeAdapter(MsppParameters).validate_python(system)


def sample(documents: DataFrame, system: dict[str, Any]) -> tuple[DataFrame, Observation]:
    """MSPP examples, and their counts once they are written."""
    config = parameters_of(system)
    return sample_mspp(documents, config.sampling, config.sampling_seed)


def count(observation: Observation, examples: Path) -> dict[str, int]:
    """Counts of the sampling; `examples` is there to wait for."""
    counts = count_mspp(observation)
    if not counts["examples"]:
        raise ValueError(f"no example could be sampled from this corpus: {counts}")
    LOG.info("examples: %s", counts)
    return counts


def encode(answers: pd.DataFrame, tokenizer: Path, system: dict[str, Any]) -> pd.DataFrame:
    """Questions and candidates as token ids."""
    limit = parameters_of(system).layout.sentence_tokens - 2
    return encode_answers(answers, load_tokenizer(tokenizer)[0], limit)


def training_config(system: dict[str, Any]) -> dict[str, Any]:
    """The one file that `python -m contexture.training` needs beside the examples."""
    return parameters_of(system).training()
