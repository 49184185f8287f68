"""Encoders of words: bags of words, BoW-MLP and GRUs, by hand."""

import numpy as np
import pytest
import torch

from .toys import TOKENS, TRAINED, VECTOR_SIZE, build, rows, sentences, words


def test_a_bag_of_words_is_the_sum_of_its_embeddings() -> None:
    """An unknown word has its own embedding; a text without a word is zero."""
    encoder = build("bag_of_words")
    table = encoder.document.words.weight
    assert table.shape == (TRAINED, 4)
    vectors = encoder(encoder.batch(sentences([5, 6, 6], [], [7], [TRAINED + 1, 8]), "document", 40), "document")
    expected = torch.stack([table[5] + 2 * table[6], 0 * table[5], table[7], table[TOKENS.unk] + table[8]])
    torch.testing.assert_close(vectors, expected)


@pytest.mark.parametrize("kind", ["bag_of_words", "gru"])
def test_the_range_of_new_embeddings(kind: str) -> None:
    size = {"bag_of_words": {"embedding_size": 100}, "gru": {"word_size": 300}}[kind]
    assert 0.098 < float(build(kind, **size).document.words.weight.detach().abs().max()) <= 0.1


def test_bow_mlp_is_the_mean_of_all_tokens_through_two_tanh_layers() -> None:
    encoder = build("bag_of_words_mlp")
    network = encoder.document
    vectors = encoder(encoder.batch(rows([[5, 6], [7]], [[8], [TRAINED + 1]]), "document", 8), "document")
    cls, sep, unknown = TOKENS.cls, TOKENS.sep, TOKENS.unk
    for vector, ids in zip(vectors, ([cls, 5, 6, sep, 7, sep], [cls, 8, sep, unknown, sep]), strict=True):
        mean = network.words.weight[ids].mean(dim=0)
        hidden = torch.tanh(network.hidden.weight @ mean + network.hidden.bias)
        torch.testing.assert_close(vector, torch.tanh(network.output.weight @ hidden + network.output.bias))


def test_a_new_bow_mlp_separates_texts() -> None:
    """Without a gain the means of many small embeddings would start almost equal."""
    encoder = build("bag_of_words_mlp", word_size=400, hidden_size=50, embedding_size=50)
    vectors = encoder(encoder.batch(rows(*([[token] * 6] for token in range(5, 25))), "document", 400), "document")
    assert float(vectors.detach().std(dim=0).mean()) > 0.1


def test_gates_are_biased_by_one_and_matrices_are_xavier_uniform() -> None:
    gru = build("gru", word_size=300, embedding_size=200).document.gru.requires_grad_(False)
    biases = gru.bias_ih_l0 + gru.bias_hh_l0
    assert biases.tolist() == [1.0] * 400 + [0.0] * 200  # reset, update, new
    bound = (6 / 500) ** 0.5
    for gate in torch.split(gru.weight_ih_l0, 200):
        assert 0.98 * bound < float(gate.abs().max()) <= bound


@pytest.mark.parametrize("kind", ["gru", "bidirectional", "fixed"])
def test_the_vector_is_the_last_state_of_each_direction(kind: str) -> None:
    encoder = build(kind)
    text, network = [5, 6, 7], encoder.document
    with torch.no_grad():
        _, last = network.gru(network.words(torch.tensor(text)))
        vectors = encoder(encoder.batch(sentences(text, [8, 9]), "document", 40), "document")
    torch.testing.assert_close(vectors[0], last.flatten())
    assert vectors.shape == (2, 4)


def test_fixed_word_vectors_are_shared_and_unchanged() -> None:
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


@pytest.mark.parametrize(
    ("kind", "flops"),
    [
        ("bag_of_words", 2 * 4 * 5),
        ("static", 4 * 4 * 5),
        ("bag_of_words_mlp", 6 * 2 * (6 * 7 + 7 * 4)),  # two layers, whatever the lengths
        # Three gates of matrices for words and states and two biases, six operations each for a word.
        ("gru", 6 * 3 * 4 * (6 + 4 + 2) * 5),
        ("bidirectional", 6 * 2 * 3 * 2 * (6 + 2 + 2) * 5),
    ],
)
def test_flops_by_hand(kind: str, flops: float) -> None:
    assert float(build(kind).document.flops(torch.tensor([2, 3]))) == flops
