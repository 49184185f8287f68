"""Vocabulary expansion: the linear map, and the encoders that get words by it."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from contexture.encoders.expansion import expand, expand_words

from .toys import TRAINED, WORDS, build, words


def test_a_planted_map_is_found_again() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 5)).astype(np.float32)
    vectors[[0, 41]] = 0
    planted = rng.normal(size=(5, 7)).astype(np.float32)
    trained = torch.from_numpy(vectors[:40] @ planted)
    trained[0] = torch.arange(7.0)  # has no vector: no part of the fit
    found = expand(trained, vectors, unknown=0)
    assert found.shape == (60, 7)
    assert torch.equal(found[:40], trained)
    assert torch.equal(found[41], trained[0])
    others = [40, *range(42, 60)]
    assert found[others].numpy() == pytest.approx(vectors[others] @ planted, abs=1e-5)


def test_least_squares_without_a_bias() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(50, 4)).astype(np.float32)
    trained = torch.from_numpy(rng.normal(size=(30, 3)))
    found = expand(trained, vectors, unknown=2)
    expected = LinearRegression(fit_intercept=False).fit(vectors[:30], trained.numpy()).predict(vectors[30:])
    assert found.dtype == torch.float64
    assert found[30:].numpy() == pytest.approx(expected, abs=1e-5)
    assert torch.equal(found[:30], trained)


def test_what_cannot_be_expanded() -> None:
    vectors = np.ones((9, 4), np.float32)
    vectors[:5] = 0
    with pytest.raises(ValueError, match="only 3 trained words have one of the word vectors, of 4 numbers"):
        expand(torch.ones(8, 2), vectors, unknown=0)
    with pytest.raises(ValueError, match="10 trained words, 9 rows"):
        expand(torch.ones(10, 2), vectors, unknown=0)
    with pytest.raises(ValueError, match="unknown word 8"):
        expand(torch.ones(8, 2), vectors, unknown=8)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", ["gru", "bidirectional", "bag_of_words", "bag_of_words_mlp", "static_idf"])
def test_an_encoder_gets_embeddings_for_all_words(kind: str, shared: bool) -> None:
    encoder = build(kind, shared=shared)
    before = {role: network.words.weight.clone() for role, network in encoder.networks.items()}
    unseen = encoder.embed(WORDS[-2:])
    np.testing.assert_allclose(unseen[0], unseen[1], atol=1e-6)  # both were the unknown word
    expand_words(encoder, words().vectors)
    for role, network in encoder.networks.items():
        torch.testing.assert_close(network.words.weight, expand(before[role], words().vectors, 1))
        assert torch.equal(network.words.weight[:TRAINED], before[role])
    assert (encoder.query is encoder.document) == shared
    seen = encoder.embed(WORDS[-2:])
    assert not np.allclose(seen[0], seen[1])


def test_fixed_words_stay_and_a_transformer_is_refused() -> None:
    fixed = build("fixed")
    table = fixed.query.words
    expand_words(fixed, words().vectors)
    assert fixed.query.words is table
    with pytest.raises(ValueError, match="a Transformer's words are left alone"):
        expand_words(build("transformer_mean"), words().vectors)
