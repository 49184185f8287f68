"""Vocabulary expansion: the linear map, and encoders that are expanded."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from contexture.encoders.expansion import expand_embeddings, expand_words

from .toys import TRAINED, WORDS, build, words


def test_a_known_map_is_recovered() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 5)).astype(np.float32)
    vectors[[0, 41]] = 0
    true_map = rng.normal(size=(5, 7)).astype(np.float32)
    trained = torch.from_numpy(vectors[:40] @ true_map)
    trained[0] = torch.arange(7.0)  # has no vector: not part of the fit
    expanded = expand_embeddings(trained, vectors, unknown=0)
    new = [40, *range(42, 60)]
    assert torch.equal(expanded[:40], trained) and torch.equal(expanded[41], trained[0])
    assert expanded[new].numpy() == pytest.approx(vectors[new] @ true_map, abs=1e-5)
    # Least squares without a bias.
    noisy = torch.from_numpy(rng.normal(size=(30, 3)))
    vectors = rng.normal(size=(50, 4)).astype(np.float32)
    expanded = expand_embeddings(noisy, vectors, unknown=2)
    model = LinearRegression(fit_intercept=False).fit(vectors[:30], noisy.numpy())
    assert expanded.dtype == torch.float64 and torch.equal(expanded[:30], noisy)
    assert expanded[30:].numpy() == pytest.approx(model.predict(vectors[30:]), abs=1e-5)


@pytest.mark.parametrize(
    ("trained", "unknown", "message"),
    [
        (8, 0, "only 3 trained words have a word vector, at least 4 are needed"),
        (10, 0, "10 trained words, 9 rows"),
        (8, 8, "unknown word 8"),
    ],
)
def test_inputs_that_cannot_be_expanded(trained: int, unknown: int, message: str) -> None:
    vectors = np.ones((9, 4), np.float32)
    vectors[:5] = 0
    with pytest.raises(ValueError, match=message):
        expand_embeddings(torch.ones(trained, 2), vectors, unknown=unknown)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", ["gru", "bidirectional", "bag_of_words", "bag_of_words_mlp", "static_idf"])
def test_an_encoder_gets_embeddings_for_all_words(kind: str, shared: bool) -> None:
    encoder = build(kind, shared=shared)
    old = {role: network.words.weight.clone() for role, network in encoder.networks.items()}
    unseen = encoder.embed(WORDS[-2:])
    np.testing.assert_allclose(unseen[0], unseen[1], atol=1e-6)  # both were the unknown word
    expand_words(encoder, words().vectors)
    for role, network in encoder.networks.items():
        torch.testing.assert_close(network.words.weight, expand_embeddings(old[role], words().vectors, 1))
        assert torch.equal(network.words.weight[:TRAINED], old[role])
    assert (encoder.query is encoder.document) == shared
    seen = encoder.embed(WORDS[-2:])
    assert not np.allclose(seen[0], seen[1])


def test_fixed_words_stay_and_a_transformer_fails() -> None:
    fixed = build("fixed")
    table = fixed.query.words
    expand_words(fixed, words().vectors)
    assert fixed.query.words is table
    with pytest.raises(ValueError, match="a Transformer cannot be expanded"):
        expand_words(build("transformer_mean"), words().vectors)
