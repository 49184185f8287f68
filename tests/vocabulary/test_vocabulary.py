"""Loading and copying vocabularies, inverse document frequencies, and damaged files."""

import math
from pathlib import Path

import numpy as np
import pytest

from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer
from contexture.vocabulary.vocabulary import IDF_FILE, Vocabulary, corpus_idf, save_idf
from contexture.vocabulary.words import VECTORS_FILE, WORDS_FILE, WordsConfig, add_words, train_words


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Five special tokens, three trained words, two more words with vectors."""
    train_words(["aa bb cc"] * 2, WordsConfig(), tmp_path / "words")
    add_words(tmp_path / "words", ["dd", "ee"], tmp_path / "words")
    np.save(tmp_path / "words" / VECTORS_FILE, np.arange(20, dtype=np.float32).reshape(10, 2))
    return tmp_path / "words"


@pytest.fixture
def subwords(tmp_path: Path) -> Path:
    train_tokenizer(["some words to read"] * 3, VocabularyConfig(size=300), tmp_path / "subwords")
    return tmp_path / "subwords"


def test_subwords_and_trained_words_have_embeddings(words: Path, subwords: Path) -> None:
    vocabulary, other = Vocabulary.load(words), Vocabulary.load(subwords)
    tokenizer, tokens = vocabulary.tokenizer, vocabulary.tokens
    assert (vocabulary.folder, vocabulary.trained, tokens.vocab_size) == (words, 8, 10)
    assert tokens == load_tokenizer(words)[1]
    assert tokenizer.encode("aa ee zz").ids == [tokenizer.token_to_id("aa"), 9, tokens.unk]
    assert other.trained == other.tokens.vocab_size == load_tokenizer(subwords)[1].vocab_size


def test_vectors_are_read_on_demand(words: Path, subwords: Path) -> None:
    vocabulary = Vocabulary.load(words)
    np.testing.assert_array_equal(vocabulary.vectors, np.arange(20).reshape(10, 2))
    assert vocabulary.vectors is vocabulary.vectors
    (words / VECTORS_FILE).unlink()
    assert Vocabulary.load(words).trained == 8
    for folder in (words, subwords):
        with pytest.raises(ValueError, match=r"word_vectors\.npy is missing or damaged"):
            _ = Vocabulary.load(folder).vectors


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_a_copy_has_no_vectors(kind: str, words: Path, subwords: Path, tmp_path: Path) -> None:
    vocabulary = Vocabulary.load(words if kind == "words" else subwords)
    vocabulary.copy(tmp_path / "deep" / "copy")
    again = Vocabulary.load(tmp_path / "deep" / "copy")
    assert (again.tokens, again.trained) == (vocabulary.tokens, vocabulary.trained)
    assert again.tokenizer.to_str() == vocabulary.tokenizer.to_str()
    files = {file.name for file in (tmp_path / "deep" / "copy").iterdir()}
    assert files == {"tokenizer.json", "tokenizer_config.json"} | ({WORDS_FILE} if kind == "words" else set())


def test_a_copy_into_its_own_folder_changes_nothing(words: Path) -> None:
    files = {file.name: file.read_bytes() for file in words.iterdir()}
    Vocabulary.load(words).copy(words / ".." / "words")
    assert {file.name: file.read_bytes() for file in words.iterdir()} == files


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", WORDS_FILE])
def test_damaged_files_raise_an_error(name: str, words: Path) -> None:
    file = words / name
    file.write_bytes(file.read_bytes()[:9])
    with pytest.raises(ValueError, match=f"words.{name}"):
        Vocabulary.load(words)
    if name != WORDS_FILE:
        file.unlink()
        with pytest.raises(FileNotFoundError, match=f"{name}: missing"):
            Vocabulary.load(words)


def test_corpus_idf_counts_a_token_once_per_sentence() -> None:
    ids = np.array([0, 0, 1, 1, 2, 0])
    whole = corpus_idf([(ids, np.array([3, 2, 1]))], 4)
    parts = corpus_idf([(ids[:3], np.array([3])), (ids[3:], np.array([2, 1]))], 4)
    expected = [math.log(4 / 3), math.log(4 / 3), math.log(4 / 2), math.log(4 / 1)]
    np.testing.assert_allclose(whole, expected, rtol=1e-6)
    np.testing.assert_array_equal(whole, parts)


def test_special_tokens_have_no_idf_and_damaged_files_raise_an_error(subwords: Path) -> None:
    tokens = load_tokenizer(subwords)[1]
    save_idf(subwords, np.full(tokens.vocab_size, 2, np.float32))
    idf = Vocabulary.load(subwords).idf
    assert idf[[tokens.cls, tokens.sep, tokens.pad, tokens.mask, tokens.unk]].tolist() == [0, 0, 0, 0, 2]
    file = subwords / IDF_FILE
    for table, message in (
        (np.ones(3, np.float32), f"3 rows for {tokens.vocab_size} words; run the vocabulary stage"),
        (np.ones(3), "expected float32 in 1 dimensions, got float64"),
    ):
        np.save(file, table)
        with pytest.raises(ValueError, match=f"{IDF_FILE}: {message}"):
            _ = Vocabulary.load(subwords).idf
    file.unlink()
    with pytest.raises(ValueError, match="run the vocabulary stage"):
        _ = Vocabulary.load(subwords).idf
