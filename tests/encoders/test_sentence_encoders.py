from pathlib import Path

import pytest
import torch

from contexture.encoders.config import (
    BagOfWordsSentences,
    EncoderConfig,
    GruSentences,
    SentenceEncoderConfig,
    TransformerSentences,
)
from contexture.encoders.sentence_encoder_files import SETTINGS, WEIGHTS, load_sentence_encoders, save_sentence_encoders
from contexture.vocabulary.words import WordsConfig, train_words

from .sentences import TOKENS, TRAINED, batch, build

CONFIGS: list[SentenceEncoderConfig] = [
    GruSentences(word_size=6, embedding_size=4),
    GruSentences(word_size=6, embedding_size=4, bidirectional=True),
    GruSentences(embedding_size=4, words="fixed"),
    BagOfWordsSentences(kind="bag_of_words", embedding_size=4),
    TransformerSentences(
        kind="transformer", encoder=EncoderConfig(hidden_size=8, intermediate_size=16, dropout=0.0), embedding_size=4
    ),
]
TEXTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14], [15, 16]]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.kind}")
def test_a_sentence_has_the_same_vector_whatever_stands_beside_it(config: SentenceEncoderConfig) -> None:
    encoders = build(config).eval()
    together = encoders(batch(encoders, *TEXTS))
    assert together.shape == (2, 4, 4)
    for place, text in enumerate(TEXTS):
        torch.testing.assert_close(together[:, place], encoders(batch(encoders, text))[:, 0], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(together[0], together[1])  # f and g share no weights


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.kind}")
def test_words_beyond_the_limit_are_not_read(config: SentenceEncoderConfig) -> None:
    encoders = build(config).eval()
    text = list(range(5, 13))
    torch.testing.assert_close(encoders(batch(encoders, text)), encoders(batch(encoders, [*text, 20, 21])))


def test_a_word_that_was_not_trained_is_the_unknown_one_but_has_a_fixed_vector() -> None:
    trained, fixed = build(CONFIGS[0]), build(CONFIGS[2])
    beyond, unknown = [6, TRAINED + 2], [6, TOKENS.unk]
    torch.testing.assert_close(trained(batch(trained, beyond)), trained(batch(trained, unknown)))
    assert not torch.allclose(fixed(batch(fixed, beyond)), fixed(batch(fixed, unknown)))


def test_a_bag_of_words_is_the_sum_of_its_embeddings() -> None:
    encoders = build(CONFIGS[3])
    table = encoders.f.words.weight
    torch.testing.assert_close(encoders(batch(encoders, [5, 6, 6]))[0, 0], table[5] + 2 * table[6])


def test_gates_are_biased_by_one_and_matrices_are_xavier_uniform() -> None:
    gru = build(GruSentences(word_size=300, embedding_size=200)).f.gru
    both = gru.bias_ih_l0 + gru.bias_hh_l0
    assert both.tolist() == [1.0] * 400 + [0.0] * 200  # reset, update, new
    for gate in torch.split(gru.weight_ih_l0, 200):
        bound = (6 / 500) ** 0.5
        assert 0.98 * bound < float(gate.abs().max()) <= bound
    words = build(GruSentences(word_size=300, embedding_size=200)).f.words.weight
    assert 0.098 < float(words.abs().max()) <= 0.1


def test_fixed_word_vectors_are_shared_and_never_change() -> None:
    encoders = build(CONFIGS[2])
    assert encoders.f.words is encoders.g.words
    encoders(batch(encoders, *TEXTS)).sum().backward()
    assert encoders.f.words.weight.grad is None
    assert encoders.f.gru.weight_ih_l0.grad is not None


def test_test_vectors_are_two_unit_vectors() -> None:
    encoders = build(CONFIGS[0])
    vectors = encoders.test_vectors(batch(encoders, *TEXTS))
    assert vectors.shape == (4, encoders.size) == (4, 8)
    torch.testing.assert_close(vectors.view(4, 2, 4).norm(dim=2), torch.ones(4, 2))
    f, g = encoders(batch(encoders, *TEXTS))
    torch.testing.assert_close(vectors[:, 4:] * g.norm(dim=1, keepdim=True), g)
    torch.testing.assert_close(encoders.test_vectors(batch(encoders, *TEXTS), unit=False), torch.cat([f, g], dim=1))
    assert build(CONFIGS[0], pair=False).size == 4
    assert not torch.allclose(f, g)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.kind}")
@pytest.mark.parametrize("pair", [True, False])
def test_what_is_loaded_is_what_was_saved(config: SentenceEncoderConfig, pair: bool, tmp_path: Path) -> None:
    tokenizer = tmp_path / "words"
    train_words(["aa bb cc dd ee"] * 2, WordsConfig(size=30), tokenizer)
    encoders = build(config, pair).eval()
    save_sentence_encoders(encoders, tokenizer, tmp_path / "model")
    loaded = load_sentence_encoders(tmp_path / "model").eval()
    torch.testing.assert_close(loaded(batch(loaded, *TEXTS)), encoders(batch(encoders, *TEXTS)), rtol=0, atol=0)


def test_damaged_encoders_are_refused_by_the_name_of_their_folder(tmp_path: Path) -> None:
    tokenizer = tmp_path / "words"
    train_words(["aa bb cc dd ee"] * 2, WordsConfig(size=30), tokenizer)
    for damaged in (SETTINGS, WEIGHTS):
        folder = tmp_path / damaged
        save_sentence_encoders(build(CONFIGS[0]), tokenizer, folder)
        (folder / damaged).write_bytes((folder / damaged).read_bytes()[:40])
        with pytest.raises(ValueError, match=rf"{damaged} holds no whole sentence encoders"):
            load_sentence_encoders(folder)
