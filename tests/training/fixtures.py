"""Fixtures of training: files, created once per session."""

from pathlib import Path

import pytest

from tests.training import toys
from tests.training.runs import Training


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.write_tokenizer(tmp_path_factory.mktemp("vocabulary") / "tokenizer")


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.write_words(tmp_path_factory.mktemp("words") / "words")


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory, tokenizer: Path) -> Path:
    """Examples of every stream, as subwords, in a folder for each kind."""
    folder = tmp_path_factory.mktemp("examples")
    toys.write_examples(folder, tokenizer)
    return folder


@pytest.fixture(scope="session")
def word_examples(tmp_path_factory: pytest.TempPathFactory, words: Path) -> Path:
    folder = tmp_path_factory.mktemp("word_examples")
    toys.write_all_sentences(folder / "sentences", words)
    return folder


@pytest.fixture
def training(examples: Path, tokenizer: Path, tmp_path: Path) -> Training:
    return Training(examples, tokenizer, tmp_path)
