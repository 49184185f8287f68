"""A GRU over words: how it starts, its fixed words, and the vector that it makes."""

import numpy as np
import pytest
import torch

from .toys import VECTOR_SIZE, build, sentences, words


def test_gates_are_biased_by_one_and_matrices_are_xavier_uniform() -> None:
    network = build("gru", word_size=300, embedding_size=200).document
    gru = network.gru.requires_grad_(False)
    both = gru.bias_ih_l0 + gru.bias_hh_l0
    assert both.tolist() == [1.0] * 400 + [0.0] * 200  # reset, update, new
    for gate in torch.split(gru.weight_ih_l0, 200):
        bound = (6 / 500) ** 0.5
        assert 0.98 * bound < float(gate.abs().max()) <= bound
    assert 0.098 < float(network.words.weight.detach().abs().max()) <= 0.1


@pytest.mark.parametrize("kind", ["gru", "bidirectional", "fixed"])
def test_the_vector_is_the_last_state_of_each_direction(kind: str) -> None:
    encoder = build(kind)
    text, network = [5, 6, 7], encoder.document
    with torch.no_grad():
        _, last = network.gru(network.words(torch.tensor(text)))
        found = encoder(encoder.batch(sentences(text, [8, 9]), "document", 40), "document")
    torch.testing.assert_close(found[0], last.flatten())
    assert found.shape == (2, 4)


def test_fixed_word_vectors_are_shared_and_never_change() -> None:
    encoder = build("fixed", shared=False)
    assert encoder.query.words is encoder.document.words
    np.testing.assert_array_equal(encoder.query.words.weight.numpy(), words().vectors)
    assert encoder.query.gru.input_size == VECTOR_SIZE
    batch = encoder.batch(sentences([5, 6, 7], [8]), "document", 40)
    (encoder(batch, "query") + encoder(batch, "document")).sum().backward()
    assert encoder.query.words.weight.grad is None
    assert encoder.query.gru.weight_ih_l0.grad is not None
    trained = build("gru", shared=False)
    assert trained.query.words is not trained.document.words
    assert not torch.equal(trained.query.words.weight, trained.document.words.weight)


def test_flops_by_hand() -> None:
    """3 gates of matrices for words and states and two biases, six operations each for a word."""
    one = 3 * 4 * (6 + 4 + 2)
    assert float(build("gru").document.flops(torch.tensor([2, 3]))) == 6 * one * 5
    two = 2 * 3 * 2 * (6 + 2 + 2)
    assert float(build("bidirectional").document.flops(torch.tensor([2, 3]))) == 6 * two * 5
