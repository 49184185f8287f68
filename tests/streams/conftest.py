"""Tables to sample from."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from contexture.streams.tokens import tokenize_paragraphs
from contexture.vocabulary.tokenizers import VocabularyConfig, train_tokenizer
from tests.streams.make import WORDS, paragraphs_table, random_paragraphs, save_table
from tests.training.fixtures import examples, tokenizer, training

__all__ = ["examples", "tokenizer", "training"]


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    train_tokenizer([" ".join(WORDS)] * 3, VocabularyConfig(size=300), folder)
    return folder


@pytest.fixture(scope="session")
def paragraphs(spark: SparkSession) -> DataFrame:
    return paragraphs_table(spark, random_paragraphs())


@pytest.fixture(scope="session")
def documents(paragraphs: DataFrame, vocabulary: Path, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The documents table, read from disk as the samplers require."""
    return save_table(tokenize_paragraphs(paragraphs, vocabulary), tmp_path_factory.mktemp("documents") / "table")
