"""Inverse document frequencies, against numbers by hand, and damaged files."""

import math
from pathlib import Path

import numpy as np
import pytest

from contexture.vocabulary.idf import IDF_FILE, corpus_idf, load_idf, save_idf
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer


def test_each_sentence_counts_a_token_once_wherever_blocks_are_cut() -> None:
    ids = np.array([0, 0, 1, 1, 2, 0])
    whole = corpus_idf([(ids, np.array([3, 2, 1]))], 4)
    parts = corpus_idf([(ids[:3], np.array([3])), (ids[3:], np.array([2, 1]))], 4)
    expected = [math.log(4 / 3), math.log(4 / 3), math.log(4 / 2), math.log(4 / 1)]
    np.testing.assert_allclose(whole, expected, rtol=1e-6)
    np.testing.assert_array_equal(whole, parts)


def test_special_tokens_count_nothing_and_damage_is_named(tmp_path: Path) -> None:
    train_tokenizer(["one two three"] * 3, VocabularyConfig(size=300), tmp_path)
    tokens = load_tokenizer(tmp_path)[1]
    save_idf(tmp_path, np.full(tokens.vocab_size, 2, np.float32))
    found = load_idf(tmp_path)
    assert found[[tokens.cls, tokens.sep, tokens.pad, tokens.mask]].tolist() == [0, 0, 0, 0]
    assert found[tokens.unk] == 2
    np.save(tmp_path / IDF_FILE, np.ones(3, np.float32))
    with pytest.raises(ValueError, match=rf"{IDF_FILE}: expected float32 \({tokens.vocab_size},\)"):
        load_idf(tmp_path)
    (tmp_path / IDF_FILE).unlink()
    with pytest.raises(ValueError, match="run the vocabulary stage"):
        load_idf(tmp_path)
