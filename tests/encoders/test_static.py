"""The static encoder: its mean, its export to sentence-transformers, and initial embeddings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from contexture.encoders.config import StaticConfig
from contexture.encoders.files import load_encoder, save_encoder
from contexture.encoders.layout import text_layout
from contexture.encoders.saved import read_settings
from contexture.encoders.static_queries import StaticQueryEncoder
from contexture.vocabulary.vocabulary import Vocabulary

from .toys import TRAINED, VECTOR_SIZE, WORDS, build, sentences, subwords, words

TEXTS = ["kana kave kadi", "lona", "rupo seve sedi kana lona kapo"]


@pytest.mark.parametrize("pooling", ["mean", "idf"])
def test_the_vector_is_the_weighted_mean_of_the_tokens(pooling: str) -> None:
    encoder = build(StaticConfig("static", embedding_size=4, pooling=pooling), vocabulary=words())  # type: ignore[arg-type]
    table, vocabulary = encoder.document.words.weight.detach().numpy(), words()
    for text, vector in zip(TEXTS, encoder.embed(TEXTS), strict=True):
        ids = vocabulary.tokenizer.encode(text, add_special_tokens=False).ids
        ids = [token if token < TRAINED else vocabulary.tokens.unk for token in ids]
        weights = [float(vocabulary.idf[token]) if pooling == "idf" else 1.0 for token in ids]
        total = sum(weight * table[token] for weight, token in zip(weights, ids, strict=True))
        np.testing.assert_allclose(vector, total / sum(weights), rtol=1e-5)


def test_norm_is_the_length_of_every_vector_of_a_token() -> None:
    encoder = build(StaticConfig("static", embedding_size=4, norm=3.0), vocabulary=words())
    np.testing.assert_allclose(np.linalg.norm(encoder.embed([*TEXTS, ""]), axis=1), [3, 3, 3, 0], rtol=1e-5)


@pytest.mark.parametrize(("pooling", "norm"), [("idf", 4.5), ("mean", 4.5), ("mean", None)])
def test_sentence_transformers_gives_the_same_vectors(pooling: Any, norm: float | None, tmp_path: Path) -> None:
    """Of length 1, if they are scaled."""
    from sentence_transformers import SentenceTransformer

    encoder = build(StaticConfig("static", embedding_size=6, pooling=pooling, norm=norm), vocabulary=subwords())
    save_encoder(encoder, tmp_path / "made")
    theirs = SentenceTransformer(str(tmp_path / "made")).encode(TEXTS)
    np.testing.assert_allclose(theirs, encoder.embed(TEXTS) / (norm or 1), atol=1e-5)


def test_sentence_transformers_cannot_divide_by_the_sum_of_weights(tmp_path: Path) -> None:
    save_encoder(build(StaticConfig("static", pooling="idf"), vocabulary=subwords()), tmp_path / "made")
    assert not (tmp_path / "made/modules.json").exists()
    assert load_encoder(tmp_path / "made").embed(TEXTS).any()


@pytest.mark.parametrize("settings", [{}, {"pooling": "mean"}, {"norm": 3.0}, {"shared": False}])
def test_questions_get_the_same_vectors_without_torch(settings: dict[str, Any], tmp_path: Path) -> None:
    """With words without an embedding, texts longer than ten words, and texts without a word."""
    texts = [*TEXTS, "", "  ", " ".join(WORDS), WORDS[-1], "unheard of"]
    encoder = build(StaticConfig("static", embedding_size=6, **settings), vocabulary=words())
    save_encoder(encoder, tmp_path)
    vectors = StaticQueryEncoder(tmp_path, read_settings(tmp_path)).embed(texts)
    assert vectors.dtype == np.float32 and vectors[0].any() and not vectors[3:5].any()
    np.testing.assert_allclose(vectors, encoder.embed(texts, "query"), atol=1e-6)


def test_embeddings_start_from_word_vectors() -> None:
    new = build(StaticConfig("static", embedding_size=8), vocabulary=words())
    started = build(StaticConfig("static", embedding_size=8, start="word_vectors"), vocabulary=words())
    drawn, after = new.document.words.weight.detach(), started.document.words.weight.detach()
    vectors = torch.from_numpy(np.array(words().vectors[:TRAINED]))
    ratio = after[:, :VECTOR_SIZE] / vectors
    torch.testing.assert_close(ratio, ratio[0, 0].expand_as(ratio))
    assert after[:, :VECTOR_SIZE].square().mean() == pytest.approx(float(drawn.square().mean()), rel=1e-4)
    torch.testing.assert_close(after[:, VECTOR_SIZE:], drawn[:, VECTOR_SIZE:])


def test_a_vocabulary_without_vectors_or_frequencies_fails(tmp_path: Path) -> None:
    subwords().copy(tmp_path / "bare")
    bare = Vocabulary.load(tmp_path / "bare")
    with pytest.raises(ValueError, match=r"word_vectors\.npy is missing"):
        build(StaticConfig("static", start="word_vectors", pooling="mean"), vocabulary=bare)
    with pytest.raises(ValueError, match=r"idf\.npy is missing"):
        build(StaticConfig("static"), vocabulary=bare)


def test_a_transformer_weighs_its_states_by_the_frequencies(tmp_path: Path) -> None:
    encoder = build("transformer_idf", vocabulary=subwords())
    words = subwords().tokenizer.encode(TEXTS[0], add_special_tokens=False).ids
    batch = text_layout(sentences(words), encoder.specials, len(words) + 2)
    states = encoder.transformer.states(batch)[0].detach().numpy()
    weights = subwords().idf[batch["input_ids"][0].tolist()]
    assert weights[0] == weights[-1] == 0
    expected = sum(weight * state for weight, state in zip(weights, states, strict=True)) / weights.sum()
    save_encoder(encoder, tmp_path / "made")
    for made in (encoder, load_encoder(tmp_path / "made")):
        np.testing.assert_allclose(made.embed(TEXTS[:1])[0], expected, rtol=1e-4, atol=1e-6)
