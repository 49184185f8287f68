"""Features of pairs and the selection of the regularisation strength."""

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter
from sklearn.linear_model import LogisticRegression

from contexture.encoders.base import Encoder, build_encoder, tokenize_texts
from contexture.encoders.config import AnyEncoderConfig, Lengths
from contexture.tasks.pairs import features as module
from contexture.tasks.pairs.features import STRENGTHS, classify, compute_features, frozen_features, select_cross_layers
from contexture.vocabulary.vocabulary import Vocabulary
from tests.tasks.pairs import toys


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    return Vocabulary.load(toys.vocabulary(tmp_path_factory.mktemp("words") / "words"))


def build(vocabulary: Vocabulary, config: dict[str, Any]) -> Encoder:
    torch.manual_seed(0)
    typed: Any = TypeAdapter(AnyEncoderConfig).validate_python(config)
    return build_encoder(typed, Lengths(query=12, document=12), vocabulary).eval()


def test_vector_features_by_hand() -> None:
    first, second = torch.tensor([[1.0, -2.0], [0.0, 3.0]]), torch.tensor([[4.0, 0.5], [-1.0, 3.0]])
    assert compute_features(first, second).tolist() == [
        [1.0, -2.0, 4.0, 0.5, 3.0, 2.5, 4.0, -1.0],
        [0.0, 3.0, -1.0, 3.0, 1.0, 0.0, 0.0, 9.0],
    ]


def test_cross_features_are_the_output_of_the_cross_layers(
    vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C of the first, then of the second sentence: a pair is a sample of two sequences."""
    encoder = build(vocabulary, toys.CROSS)
    cross = select_cross_layers(encoder, "cross")
    assert cross is not None and encoder.dimension == 32
    assert select_cross_layers(encoder, "vectors") is None
    texts = ["kana lodi", "mipo", "sega tove kana"]
    vectors = torch.from_numpy(encoder.embed(texts))
    first, second = vectors[[0, 1, 2]], vectors[[1, 1, 0]]
    features = compute_features(first, second, cross)
    assert features.shape == (3, 64)
    for row in range(3):
        expected = cross(torch.stack([first[row], second[row]])[None], torch.ones(1, 2, dtype=torch.bool))
        torch.testing.assert_close(features[row], expected[0].flatten())
    torch.testing.assert_close(features[1, :32], features[1, 32:])  # the same sentence twice
    cross.train()  # measured features have no dropout
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 2)
    torch.testing.assert_close(frozen_features(first, second, cross), features)


@pytest.mark.parametrize("config", [toys.TRANSFORMER, toys.BAG, toys.CROSS | {"shared": False}])
def test_other_encoders_have_no_cross_layers(config: dict[str, Any], vocabulary: Vocabulary) -> None:
    assert select_cross_layers(build(vocabulary, config), "cross") is None


def test_plain_vectors_equal_embeddings(vocabulary: Vocabulary) -> None:
    texts = ["kana lodi", "mipo", "sega tove kana"]
    for changes in ({}, {"shared": False}, {"shared": False, "plain": "both"}, {"plain": "both", "unit": False}):
        encoder = build(vocabulary, toys.TRANSFORMER | changes)
        parts = tokenize_texts(texts, vocabulary)
        batches = {role: encoder.batch(parts, role, 20) for role in encoder.plain_roles}
        torch.testing.assert_close(encoder.combine_roles(batches).detach(), torch.from_numpy(encoder.embed(texts)))


def test_classify_selects_the_strength_on_dev() -> None:
    """Compared with scikit-learn at every strength."""
    rng = np.random.default_rng(0)
    sizes = {"train": 60, "dev": 40, "test": 50}
    labels = {part: rng.integers(3, size=size) for part, size in sizes.items()}
    features = {part: rng.normal(size=(size, 8)) + 0.7 * np.eye(8)[labels[part]] for part, size in sizes.items()}
    scores, predicted = [], []
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=5000, tol=1e-8).fit(features["train"], labels["train"])
        scores.append(model.score(features["dev"], labels["dev"]))
        predicted.append(model.predict(features["test"]))
    results = classify({part: torch.from_numpy(rows) for part, rows in features.items()}, labels, 3)
    assert results["test"].tolist() == predicted[int(np.argmax(scores))].tolist()
    assert (results["dev"] == labels["dev"]).mean() == max(scores) and set(results) == {"dev", "test"}
