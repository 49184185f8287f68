"""The interface of all encoders: vectors of texts, independent of other texts, with or without a role."""

from typing import Any

import numpy as np
import pytest
import torch

from contexture.encoders import base
from contexture.encoders.base import Encoder, build_encoder, prepare_for_inference, to_device, tokenize_texts
from contexture.encoders.config import ROLES, EncoderConfig, LayoutConfig, Lengths, Role, TableSizes
from contexture.encoders.layout import joint_layout, row_lengths, text_layout

from .toys import KINDS, LENGTHS, TRAINED, WITH_SPECIALS, build, config, contiguous, rows, sentences, subwords, words

IDS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14], [15, 16]]
TEXTS = ["kana kave kadi", "lona", "rupo seve sedi kana lona kapo", "seve kana", "lona lona"]


def vectors_of(encoder: Encoder, role: Role, *texts: list[int]) -> torch.Tensor:
    with torch.no_grad():
        vectors: torch.Tensor = encoder(encoder.batch(sentences(*texts), role, 40), role)
    return vectors


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_does_not_depend_on_other_texts(kind: str, shared: bool) -> None:
    encoder = build(kind, shared=shared)
    assert (encoder.query is encoder.document) == shared
    for role in ROLES:
        together = vectors_of(encoder, role, *IDS)
        assert together.shape == (4, encoder.network(role).size)
        for row, text in enumerate(IDS):
            torch.testing.assert_close(together[row], vectors_of(encoder, role, text)[0], rtol=1e-4, atol=1e-5)
    assert torch.equal(vectors_of(encoder, "query", *IDS), vectors_of(encoder, "document", *IDS)) == shared
    np.testing.assert_allclose(encoder.embed(TEXTS[::-1]), encoder.embed(TEXTS)[::-1], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_beyond_the_length_of_the_role_are_ignored(kind: str) -> None:
    special = 2 * (kind in WITH_SPECIALS) + (kind == "transformer_cross")
    encoder = build(kind, lengths=Lengths(query=4 + special, document=6 + special))
    for role, limit in (("query", 4), ("document", 6)):
        text = list(range(5, 5 + limit))
        torch.testing.assert_close(vectors_of(encoder, role, text), vectors_of(encoder, role, [*text, 20, 21]))  # type: ignore[arg-type]
        assert not torch.allclose(vectors_of(encoder, role, text), vectors_of(encoder, role, [*text[:-1], 20]))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_an_untrained_word_is_the_unknown_word_unless_words_are_fixed(kind: str) -> None:
    encoder = build(kind)
    beyond, unknown = vectors_of(encoder, "document", [6, TRAINED + 2]), vectors_of(encoder, "document", [6, 1])
    assert torch.equal(beyond, unknown) == (kind != "fixed")
    assert encoder.network("query").words.num_embeddings == (30 if kind == "fixed" else TRAINED)


@pytest.mark.parametrize("role", [None, *ROLES])
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_of_texts_are_those_of_their_tokens(kind: str, role: Role | None) -> None:
    encoder = build(kind, shared=False)
    tokenizer = encoder.vocabulary.tokenizer
    ids = [[tokenizer.token_to_id(word) for word in text.split()] for text in TEXTS]
    vectors = encoder.embed(TEXTS, role)
    assert vectors.dtype == np.float32 and vectors.shape == (5, encoder.dimension)
    expected = torch.cat([vectors_of(encoder, role or "document", text) for text in ids])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("plain", ["document", "query", "both"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_a_vector_without_a_role_is_that_of_one_role_or_of_both(plain: Any, shared: bool, unit: bool) -> None:
    encoder = build("gru", shared=shared, plain=plain, unit=unit)
    query, document = sides = [encoder.embed(TEXTS, role) for role in ROLES]
    if unit:
        sides = [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in sides]
    both = sides[0] if shared else np.concatenate(sides, axis=1)
    expected = {"document": document, "query": query, "both": both}[plain]
    np.testing.assert_allclose(encoder.embed(TEXTS), expected, atol=1e-6)
    assert expected.shape == (5, encoder.dimension) == (5, 8 if plain == "both" and not shared else 4)


@pytest.mark.parametrize("kind", KINDS)
def test_two_parts_are_separated_if_the_model_has_special_tokens(kind: str) -> None:
    encoder = build(kind)
    tokenizer = encoder.vocabulary.tokenizer
    pairs = [("kana kave", "lona"), ("lona", "kana kave kana"), ("seve", "")]
    ids = rows(*([[tokenizer.token_to_id(word) for word in part.split()] for part in pair] for pair in pairs))
    vectors = encoder.embed(pairs)
    with torch.no_grad():
        expected = encoder(encoder.batch(ids, "document", 40), "document")
        if kind in WITH_SPECIALS:
            layout = text_layout(ids, encoder.specials, LENGTHS.document)
            torch.testing.assert_close(encoder.document(layout), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    joined = encoder.embed([" ".join(pair) for pair in pairs])
    assert np.allclose(vectors, joined, atol=1e-6) == (kind not in WITH_SPECIALS)


@pytest.mark.parametrize("kind", ["gru", "transformer_cls"])
def test_texts_of_one_part_and_of_two_are_not_mixed(kind: str) -> None:
    encoder = build(kind)
    for mixed in ([("kana", "kave"), "kana"], ["kana", ("kana", "kave")]):
        with pytest.raises(ValueError, match="of one part and texts of two are mixed"):
            encoder.embed(mixed)
    with pytest.raises(ValueError, match="in separate calls"):
        tokenize_texts([("a", "b"), ("a", "b", "c")], words())  # type: ignore[list-item]


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_without_a_word_is_a_vector_of_zeros(kind: str) -> None:
    encoder = build(kind, shared=False, plain="both")
    assert encoder.embed([]).shape == (0, encoder.dimension) == (0, 2 * encoder.query.size)
    assert encoder.embed([], "query").shape == (0, encoder.query.size)
    vectors = encoder.embed(["kana", "", " ", "kave"])
    assert vectors.any(axis=1).tolist() == [True, False, False, True]
    np.testing.assert_allclose(vectors[[0, 3]], encoder.embed(["kana", "kave"]), atol=1e-6)
    assert encoder.embed([("", ""), ("kana", "")], "document").any(axis=1).tolist() == [False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_batch_sizes_change_no_vector(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = build(kind)
    expected = encoder.embed(TEXTS)
    monkeypatch.setattr(base, "MAX_BATCH_TEXTS", 2)
    monkeypatch.setattr(base, "MAX_CPU_BATCH_TOKENS", 5)
    np.testing.assert_allclose(encoder.embed(TEXTS), expected, atol=1e-5)


def test_embedding_uses_no_dropout_and_restores_the_mode() -> None:
    encoder = build("transformer_cls")
    expected = encoder.embed(TEXTS)
    encoder.train()
    np.testing.assert_array_equal(encoder.embed(TEXTS), expected)
    assert encoder.training and encoder.document.model.training
    encoder.eval().embed(TEXTS)
    assert not encoder.training
    assert not prepare_for_inference(build("gru").train()).training


def test_tokenized_by_hand() -> None:
    lookup = words().tokenizer.token_to_id
    a, b, c = (lookup(word) for word in ("kana", "kave", "lona"))
    sentences = tokenize_texts([("kana kave", "lona"), ("", "kana"), ("kana kave", "")], words())
    assert sentences.tokens.tolist() == [a, b, c, a, a, b]
    assert sentences.lengths.tolist() == [[2, 1], [0, 1], [2, 0]]
    assert tokenize_texts(["kave", "", "kave"], words()).lengths.tolist() == [[1], [0], [1]]
    assert tokenize_texts([], words()).lengths.shape == (0, 1)


def test_states_and_logits_are_those_of_the_model() -> None:
    encoder = build("transformer_cls", head=True, vocabulary=subwords())
    batch = text_layout(sentences([20, 21, 22], [23]), encoder.specials, 10)
    with torch.no_grad():
        whole = encoder.document.model(**batch, output_hidden_states=True)
        states = encoder.transformer.states(batch)
        present = batch["attention_mask"].bool()
        torch.testing.assert_close(states[present], whole.hidden_states[-1][present])
        torch.testing.assert_close(encoder.transformer.token_logits(states[0]), whole.logits[0])
    assert encoder.hidden_size == 8 == states.shape[2]


@pytest.mark.parametrize("kind", ["gru", "bag_of_words", "bag_of_words_mlp"])
def test_networks_without_states_fail(kind: str) -> None:
    encoder = build(kind)
    for call in (
        lambda: encoder.transformer.states({}),
        lambda: encoder.transformer.token_logits(torch.zeros(1, 4)),
        lambda: encoder.hidden_size,
    ):
        with pytest.raises(ValueError, match=r"(Gru|BagOfWords|BagOfWordsMlp) has no states of tokens"):
            call()


def test_flops_of_every_kind_of_batch() -> None:
    """A bag of words adds 4 numbers per word, forward and backward."""
    shared, separate = build("bag_of_words"), build("bag_of_words", shared=False)
    texts, longer = sentences([5, 6], [7]), sentences([5, 6, 7, 8], [9])
    sides = {"query": shared.batch(texts, "query", 40), "document": shared.batch(longer, "document", 40)}
    assert float(shared.flops(sides)) == float(separate.flops(sides)) == 2 * 4 * (3 + 5)
    both = contiguous(shared, [5, 6], [7])
    assert (float(shared.flops(both)), float(separate.flops(both))) == (2 * 4 * 3, 2 * 2 * 4 * 3)
    transformer = build("transformer_mean", head=True)
    tokens = text_layout(texts, transformer.specials, 10)
    parameters = sum(p.numel() for p in transformer.document.base.encoder.parameters())
    expected = 6 * parameters * 7 + 12 * 2 * 8 * (4**2 + 3**2)  # rows of 4 and 3 tokens, with [CLS] and [SEP]
    assert float(transformer.flops(tokens)) == expected
    assert row_lengths(both).tolist() == [2, 1] and row_lengths(sides).tolist() == [2, 1, 4, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [True, False])
def test_recomputed_activations_give_the_same_gradient_with_dropout(kind: str, shared: bool) -> None:
    encoder = build(kind, shared=shared).train()
    gradients = []
    for recompute in (False, True):
        encoder.recompute = recompute
        encoder.zero_grad()
        torch.manual_seed(3)
        vectors = torch.stack([encoder(encoder.batch(sentences(*IDS), role, 9), role) for role in ROLES])
        vectors.pow(3).sum().backward()
        gradients.append({name: p.grad.clone() for name, p in encoder.named_parameters() if p.grad is not None})
    assert gradients[0].keys() == gradients[1].keys() and len(gradients[0]) > 0
    for name, expected in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], expected, atol=1e-5, rtol=1e-4)


def test_a_new_encoder_has_the_required_positions_and_types() -> None:
    def table(encoder: Encoder) -> tuple[int, int]:
        config = encoder.document.model.config
        return config.max_position_embeddings, config.type_vocab_size

    lengths = Lengths(query=12, document=7)
    assert table(build("transformer_cls", lengths=lengths)) == (12, 1)
    assert table(build("transformer_cls", lengths=lengths, table_sizes=TableSizes(30, 3))) == (30, 3)
    assert table(build("transformer_cls", lengths=lengths, table_sizes=TableSizes(3, 2))) == (12, 2)
    assert TableSizes(3, 2) | TableSizes(2, 5) == TableSizes(3, 5)


def test_settings_without_an_architecture() -> None:
    with pytest.raises(TypeError, match="no architecture for EncoderConfig"):
        build_encoder(EncoderConfig(), LENGTHS, words())
    with pytest.raises(ValueError, match="must be even"):
        config("bidirectional", embedding_size=5)


def test_the_network_of_documents_encodes_joint_batches() -> None:
    layout = LayoutConfig(candidates=1, sentence_tokens=6)
    encoder = build("transformer_cls", shared=False, table_sizes=TableSizes(layout.width, 2))
    batch = joint_layout(rows([[5, 6], [7]]), encoder.specials, layout)
    with torch.no_grad():
        joint, document, query = (
            network.states(batch) for network in (encoder.transformer, encoder.document, encoder.query)
        )
    torch.testing.assert_close(joint, document)
    assert not torch.allclose(joint, query)


def test_all_tensors_of_a_batch_are_moved() -> None:
    batch = {"chunks": [{"ids": torch.arange(3)}], "rows": torch.arange(2), "name": "a"}
    moved = to_device(batch, torch.device("meta"))
    assert moved["rows"].device.type == moved["chunks"][0]["ids"].device.type == "meta"
    assert moved["name"] == "a"
