"""Nodes of the stage `vocabulary`."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from pyspark.sql import DataFrame

from contexture.sampling.tokens import tokenize_paragraphs
from contexture.text.vocabulary import VocabularyConfig, paragraph_texts, train_tokenizer
from contexture.training.folders import replace


def make_tokenizer(paragraphs: Path, vocabulary: dict[str, Any], place: Path) -> Path:
    """Train a tokenizer on the paragraphs, or take a published one."""
    work = place.with_name(place.name + ".unfinished")
    config = TypeAdapter(VocabularyConfig).validate_python(vocabulary)
    train_tokenizer(paragraph_texts(paragraphs), config, work)
    replace(work, place)
    return place


def tokenize(paragraphs: DataFrame, tokenizer: Path) -> DataFrame:
    """Every sentence of the corpus as token ids, once for all systems."""
    return tokenize_paragraphs(paragraphs, tokenizer)
