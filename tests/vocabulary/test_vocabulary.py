"""A folder with a vocabulary, opened: what it tells, what goes along with an encoder, what is refused."""

from pathlib import Path

import numpy as np
import pytest

from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary
from contexture.vocabulary.words import VECTORS_FILE, WORDS_FILE, WordsConfig, add_words, train_words


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Five special tokens, three trained words, two more with vectors."""
    train_words(["aa bb cc"] * 2, WordsConfig(), tmp_path / "words")
    add_words(tmp_path / "words", ["dd", "ee"], tmp_path / "words")
    np.save(tmp_path / "words" / VECTORS_FILE, np.arange(20, dtype=np.float32).reshape(10, 2))
    return tmp_path / "words"


@pytest.fixture
def subwords(tmp_path: Path) -> Path:
    train_tokenizer(["some words to read"] * 3, VocabularyConfig(size=300), tmp_path / "subwords")
    return tmp_path / "subwords"


def test_all_subwords_have_embeddings_and_of_words_those_that_were_trained(words: Path, subwords: Path) -> None:
    found, other = Vocabulary.load(words), Vocabulary.load(subwords)
    assert (found.trained, found.tokens.vocab_size) == (8, 10)
    assert found.tokens == load_tokenizer(words)[1]
    assert found.tokenizer.encode("aa ee zz").ids == [found.tokenizer.token_to_id("aa"), 9, found.tokens.unk]
    assert other.trained == other.tokens.vocab_size == load_tokenizer(subwords)[1].vocab_size
    assert found.folder == words


def test_vectors_are_read_when_they_are_asked_for(words: Path, subwords: Path) -> None:
    found = Vocabulary.load(words)
    np.testing.assert_array_equal(found.vectors, np.arange(20).reshape(10, 2))
    assert found.vectors is found.vectors
    (words / VECTORS_FILE).unlink()
    without = Vocabulary.load(words)
    assert without.trained == 8
    with pytest.raises(ValueError, match=r"word_vectors\.npy is missing or damaged"):
        _ = without.vectors
    with pytest.raises(ValueError, match=r"word_vectors\.npy is missing or damaged"):
        _ = Vocabulary.load(subwords).vectors


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_a_copy_is_the_same_without_vectors(kind: str, words: Path, subwords: Path, tmp_path: Path) -> None:
    found = Vocabulary.load(words if kind == "words" else subwords)
    found.copy(tmp_path / "deep" / "copy")
    again = Vocabulary.load(tmp_path / "deep" / "copy")
    assert (again.tokens, again.trained) == (found.tokens, found.trained)
    assert again.tokenizer.to_str() == found.tokenizer.to_str()
    files = {file.name for file in (tmp_path / "deep" / "copy").iterdir()}
    assert files == {"tokenizer.json", "tokenizer_config.json"} | ({WORDS_FILE} if kind == "words" else set())


def test_a_copy_into_its_own_folder_changes_nothing(words: Path) -> None:
    before = {file.name: file.read_bytes() for file in words.iterdir()}
    Vocabulary.load(words).copy(words / ".." / "words")
    assert {file.name: file.read_bytes() for file in words.iterdir()} == before


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", WORDS_FILE])
def test_damaged_files_are_named(name: str, words: Path) -> None:
    file = words / name
    file.write_bytes(file.read_bytes()[:9])
    with pytest.raises(ValueError, match=f"words.{name}"):
        Vocabulary.load(words)
    if name != WORDS_FILE:
        file.unlink()
        with pytest.raises(FileNotFoundError, match=f"{name}: missing"):
            Vocabulary.load(words)
