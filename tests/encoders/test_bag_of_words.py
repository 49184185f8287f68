"""The sum of the words' embeddings."""

import torch

from .toys import TOKENS, TRAINED, build, sentences


def test_a_bag_of_words_is_the_sum_of_its_embeddings() -> None:
    encoder = build("bag_of_words")
    table = encoder.document.words.weight
    assert table.shape == (TRAINED, 4)
    texts = sentences([5, 6, 6], [7], [TRAINED + 1, 8])
    found = encoder(encoder.batch(texts, "document", 40), "document")
    torch.testing.assert_close(found[0], table[5] + 2 * table[6])
    torch.testing.assert_close(found[1], table[7])
    torch.testing.assert_close(found[2], table[TOKENS.unk] + table[8])


def test_a_text_without_a_word_is_zero_and_words_are_drawn_from_a_tenth() -> None:
    encoder = build("bag_of_words", embedding_size=100)
    found = encoder(encoder.batch(sentences([5], [], [6]), "document", 40), "document")
    torch.testing.assert_close(found, encoder.document.words.weight[[5, 5, 6]] * torch.tensor([[1.0], [0.0], [1.0]]))
    assert 0.098 < float(encoder.document.words.weight.detach().abs().max()) <= 0.1


def test_flops_by_hand() -> None:
    assert float(build("bag_of_words").document.flops(torch.tensor([3, 1]))) == 2 * 4 * 4
