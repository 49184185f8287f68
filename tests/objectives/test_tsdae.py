"""TSDAE: deletion, the loss, and the input of the encoder."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contexture.encoders.layout import row_lengths
from contexture.objectives.settings import TsdaeConfig
from contexture.objectives.tsdae import Tsdae, delete_tokens
from contexture.streams.sentences.batches import sentence_batch
from tests.encoders.toys import TOKENS, TRAINED, build, sentences


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.floats(0.01, 0.99), st.integers(0, 9))
def test_deletion_keeps_the_order_and_at_least_one_token(lengths: list[int], share: float, seed: int) -> None:
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = (torch.arange(10, 10 + max(lengths)) * mask).masked_fill(torch.arange(max(lengths)) == 0, 1) * mask
    left_over = delete_tokens(
        {"input_ids": ids, "attention_mask": mask}, share, {0, 1}, torch.Generator().manual_seed(seed)
    )
    for row, length in enumerate(lengths):
        left = left_over["input_ids"][row][left_over["attention_mask"][row].bool()].tolist()
        assert left[0] == 1 and left == sorted(left)  # the special token stays, the others are in their order
        assert (len(left) > 1) == (length > 1)


@pytest.mark.parametrize(("tokens", "expected"), [(100, 40), (5, 2 + 0.6**5), (2, 0.8 + 0.6**2)])
def test_the_share_is_deleted(tokens: int, expected: float) -> None:
    """Of texts of which all tokens would be deleted, one stays."""
    batch = {"input_ids": torch.full((5000, tokens), 9), "attention_mask": torch.ones(5000, tokens, dtype=torch.int64)}
    batch["position_ids"] = torch.arange(tokens).expand(5000, tokens)
    left_over = delete_tokens(batch, 0.6, {0}, torch.Generator().manual_seed(0))
    left = left_over["attention_mask"].sum(dim=1)
    assert float(left.float().mean()) == pytest.approx(expected, rel=0.02)
    assert {table.shape[1] for table in left_over.values()} == {int(left.max())}


@pytest.mark.parametrize("kind", ["bag_of_words", "transformer_cls", "gru"])
def test_the_loss_is_that_of_a_slow_loop(kind: str) -> None:
    """One sentence at a time, each word from the previous ones, without padding."""
    encoder = build(kind)
    objective = Tsdae(TsdaeConfig(), encoder).eval()
    texts = [[5, 6, 7], [8], [9, TRAINED + 1, 10, 11]]
    batch = sentence_batch(encoder, sentences(*texts), 64)
    states = {"document": encoder(batch["texts"], "document").detach()}
    loss = objective(encoder, states, batch).value
    table, decoder, total = encoder.document.words.weight, objective.decoder, 0.0
    for text, vector in zip(texts, states["document"], strict=True):
        known = [word if word < TRAINED else TOKENS.unk for word in text]
        for end, word in enumerate(known):
            read = (table[torch.tensor([TOKENS.cls, *known[:end]])] + decoder.places.weight[: end + 1])[None]
            ahead = torch.ones(end + 1, end + 1, dtype=torch.bool).triu(1)
            decoded = decoder.layers[0](read, decoder.thought(vector)[None, None], tgt_mask=ahead)
            logits = decoder.norm(decoded[0, -1]) @ table.T + decoder.bias
            total -= float(logits.log_softmax(dim=0)[word].detach())
    assert loss.item() == pytest.approx(total / sum(map(len, texts)), rel=1e-5)


def test_a_word_depends_on_the_order_of_those_before_it() -> None:
    encoder = build("bag_of_words")
    objective = Tsdae(TsdaeConfig(), encoder).eval()
    for table in (objective.decoder.places, encoder.document.words):
        torch.nn.init.normal_(table.weight)
    vector = torch.ones(1, encoder.document.size)

    def total(*text: int) -> float:
        batch = sentence_batch(encoder, sentences(list(text)), 64)
        return len(text) * objective(encoder, {"document": vector}, batch).value.item()

    assert abs((total(5, 6, 7, 8) - total(5, 6, 7)) - (total(6, 5, 7, 8) - total(6, 5, 7))) > 1e-3


@pytest.mark.parametrize("kind", ["bag_of_words", "transformer_cls"])
def test_only_the_input_of_the_encoder_is_corrupted(kind: str) -> None:
    encoder = build(kind)
    objective = Tsdae(TsdaeConfig(deletion=0.5), encoder)
    batch = sentence_batch(encoder, sentences(list(range(5, 13)), [14], [15, 16, 17, 18]), 64)
    originals = [{name: tensor.clone() for name, tensor in chunk.items()} for chunk in batch["texts"]["chunks"]]
    corrupted, again = (objective.corrupt(batch, torch.Generator().manual_seed(3)) for _ in range(2))
    assert corrupted["words"] is batch["words"] and corrupted["texts"]["rows"] is batch["texts"]["rows"]
    for chunk, same, old, kept in zip(
        corrupted["texts"]["chunks"], again["texts"]["chunks"], batch["texts"]["chunks"], originals, strict=True
    ):
        assert all(torch.equal(old[name], kept[name]) for name in kept)
        assert all(torch.equal(chunk[name], same[name]) for name in kept)
        if kind == "transformer_cls":  # the first and the last token are special, and stay
            lengths = chunk["attention_mask"].sum(dim=1)
            assert set(chunk["input_ids"][:, 0].tolist()) == {TOKENS.cls}
            assert set(chunk["input_ids"].gather(1, lengths[:, None] - 1).flatten().tolist()) == {TOKENS.sep}
            assert int(lengths.min()) >= 3
    assert row_lengths(corrupted["texts"]).sum() < row_lengths(batch["texts"]).sum()
    assert torch.isfinite(encoder(corrupted["texts"], "document")).all()


@pytest.mark.parametrize("kind", ["bag_of_words", "transformer_cls"])
def test_the_encoder_is_charged_for_the_tokens_that_are_left(kind: str) -> None:
    encoder = build(kind)
    texts = [[14], *itertools.islice(itertools.permutations(range(5, 15)), 400)]
    batch = sentence_batch(encoder, sentences(*map(list, texts)), 64)
    objective = Tsdae(TsdaeConfig(deletion=0.6), encoder)
    decoder = objective.decoder.per_word * sum(map(len, texts))
    charged = encoder.flops(batch) + objective.flops(batch) - decoder
    left_over = encoder.flops(objective.corrupt(batch, torch.Generator().manual_seed(0)))
    assert float(charged) == pytest.approx(float(left_over), rel=0.03)
    assert float(charged) < 0.65 * float(encoder.flops(batch))


def test_additional_special_tokens_stay() -> None:
    encoder = build("transformer_cross")
    batch = sentence_batch(encoder, sentences([5, 6, 7, 8, 9, 10]), 64)
    corrupted = Tsdae(TsdaeConfig(deletion=0.9), encoder).corrupt(batch, torch.Generator().manual_seed(0))
    (chunk,), (original,) = corrupted["texts"]["chunks"], batch["texts"]["chunks"]
    assert encoder.specials.extra
    leading = 1 + len(encoder.specials.extra)
    assert torch.equal(chunk["input_ids"][:, :leading], original["input_ids"][:, :leading])
