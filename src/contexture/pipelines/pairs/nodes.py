"""Nodes of the stage `examples` of two towers."""

import logging
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from contexture.config import TwoTowerParameters
from contexture.sampling.passages import pack_passages
from contexture.systems.two_tower.config import PAIR_TASKS, PairTask
from contexture.systems.two_tower.examples import count_pairs, sample_pairs
from contexture.tasks.retrieval.data import encode_reqa
from contexture.tasks.retrieval.reqa import split_questions
from contexture.vocabulary.tokenizers import load_tokenizer

LOG = logging.getLogger(__name__)


def parameters_of(system: dict[str, Any]) -> TwoTowerParameters:
    """Typed parameters of a two-tower system."""
    return TypeAdapter(TwoTowerParameters).validate_python(system)


def pack(documents: DataFrame, paragraphs: DataFrame, system: dict[str, Any]) -> DataFrame:
    """Documents → passages of whole sentences."""
    return pack_passages(documents, paragraphs, parameters_of(system).sampling)


def sample(task: PairTask, passages: DataFrame, documents: DataFrame, system: dict[str, Any]) -> DataFrame:
    """The pairs of one pre-training task."""
    config = parameters_of(system)
    return sample_pairs(task, passages, documents, config.sampling, config.sampling_seed)


def count(place: Path, *pairs: DataFrame) -> tuple[dict[str, Any], Path]:
    """Counts of each task's pairs, like the paper's Table 1, and the folder that holds them all."""
    counts: dict[str, Any] = {task: count_pairs(table) for task, table in zip(PAIR_TASKS, pairs, strict=True)}
    for task, counted in counts.items():
        LOG.info("%s: %s", task, counted)
    if not any(counted["pairs"] for counted in counts.values()):
        raise ValueError("no pair could be sampled from this corpus: its passages have one sentence each")
    return counts, place


def encode(
    questions: pd.DataFrame, candidates: pd.DataFrame, tokenizer: Path, system: dict[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Questions and candidates as token ids; ValueError where a share of the questions is too few to train on."""
    config = parameters_of(system)
    for share in config.finetune.shares if len(questions) else ():
        splits = set(split_questions(questions["question_id"].tolist(), share / 100, 0))
        if splits != {"train", "dev", "test"}:
            raise ValueError(
                f"{share:g} % of {len(questions)} questions are too few to train on and to hold some out: leave this "
                "share out of finetune.shares, or give more questions"
            )
    return encode_reqa(questions, candidates, load_tokenizer(tokenizer)[0], config.layout)


def training_config(system: dict[str, Any]) -> dict[str, Any]:
    """The one file that `python -m contexture.training` needs beside the pairs."""
    return parameters_of(system).training()
