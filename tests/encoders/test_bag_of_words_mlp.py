"""BoW-MLP by hand."""

import torch

from .toys import TOKENS, TRAINED, build, rows


def test_the_mean_of_all_tokens_through_two_tanh_layers() -> None:
    encoder = build("bag_of_words_mlp")
    network = encoder.document
    found = encoder(encoder.batch(rows([[5, 6], [7]], [[8], [TRAINED + 1]]), "document", 8), "document")
    for vector, ids in zip(
        found,
        ([TOKENS.cls, 5, 6, TOKENS.sep, 7, TOKENS.sep], [TOKENS.cls, 8, TOKENS.sep, TOKENS.unk, TOKENS.sep]),
        strict=True,
    ):
        mean = network.words.weight[ids].mean(dim=0)
        hidden = torch.tanh(network.hidden.weight @ mean + network.hidden.bias)
        torch.testing.assert_close(vector, torch.tanh(network.output.weight @ hidden + network.output.bias))


def test_a_new_network_tells_texts_apart() -> None:
    """Without a gain the means of many small embeddings would all start at one point."""
    torch.manual_seed(0)
    encoder = build("bag_of_words_mlp", word_size=400, hidden_size=50, embedding_size=50)
    vectors = encoder(encoder.batch(rows(*([[place] * 6] for place in range(5, 25))), "document", 400), "document")
    assert float(vectors.detach().std(dim=0).mean()) > 0.1


def test_flops_by_hand() -> None:
    """Two layers of 6·7 and 7·4 weights, whatever the lengths."""
    assert float(build("bag_of_words_mlp").document.flops(torch.tensor([9, 1]))) == 6 * 2 * (6 * 7 + 7 * 4)
