"""Layers across sequences, beside slow loops and numbers computed by hand."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import BertConfig, BertModel

from contexture.encoders.config import CrossConfig
from contexture.encoders.cross import CrossLayers, attention_mask

WIDTH = 8


def cross(tokens: int = 3, layers: Any = "own") -> CrossLayers:
    torch.manual_seed(0)
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertModel(BertConfig(vocab_size=20, **sizes), add_pooling_layer=False)
    made = CrossLayers(CrossConfig(tokens, layers=layers), model, scaled=True)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return made.eval()


def vectors(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def slow(layer: Any, rows: Tensor, seen: list[list[int]]) -> Tensor:
    """A Transformer layer, one sequence and one head after the other."""
    own, heads = layer.attention.self, 2
    size = WIDTH // heads
    found = []
    for place, row in enumerate(rows):
        read = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = [float(own.query(row)[part] @ own.key(rows[j])[part]) / math.sqrt(size) for j in seen[place]]
            total = sum(map(math.exp, scores))
            weighted = [
                math.exp(one) / total * own.value(rows[j])[part] for one, j in zip(scores, seen[place], strict=True)
            ]
            read.append(torch.stack(weighted).sum(0))
        attended = layer.attention.output.LayerNorm(layer.attention.output.dense(torch.cat(read)) + row)
        inner = torch.nn.functional.gelu(layer.intermediate.dense(attended))
        found.append(layer.output.LayerNorm(layer.output.dense(inner) + attended))
    return torch.stack(found)


@pytest.mark.parametrize("layers", ["own", "shared"])
def test_each_special_token_has_a_transformer_layer_over_the_sequences(layers: str) -> None:
    made, states = cross(layers=layers), vectors(2, 4, 3 * WIDTH)
    present = torch.tensor([[True, True, True, True], [True, True, False, False]])
    found = made(states, present)
    assert found.shape == states.shape and torch.isfinite(found).all()
    assert len(made.layers) == (3 if layers == "own" else 1)
    with torch.no_grad():
        for sample, count in enumerate((4, 2)):
            for token in range(3):
                part = slice(token * WIDTH, (token + 1) * WIDTH)
                layer = made.layers[token if layers == "own" else 0]
                expected = slow(layer, states[sample, :count, part], [list(range(count))] * count)
                torch.testing.assert_close(found[sample, :count, part], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("groups", "to_itself", "seen"),
    [
        ([[7, 7, 8, 7]], True, [[0, 1, 3], [0, 1, 3], [2], [0, 1, 3]]),
        (None, False, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]),
        ([[7, 7, 8, 7]], False, [[1, 3], [0, 3], [2], [0, 1]]),
    ],
)
def test_sequences_may_leave_out_other_documents_and_themselves(
    groups: Any, to_itself: bool, seen: list[list[int]]
) -> None:
    """A sequence without any other, the third of the last case, attends to itself."""
    made, states = cross(), vectors(1, 4, 3 * WIDTH)
    numbers = None if groups is None else torch.tensor(groups)
    found = made(states, torch.ones(1, 4, dtype=torch.bool), numbers, to_itself=to_itself)
    with torch.no_grad():
        for token in range(3):
            part = slice(token * WIDTH, (token + 1) * WIDTH)
            expected = slow(made.layers[token], states[0, :, part], seen)
            torch.testing.assert_close(found[0, :, part], expected, atol=1e-5, rtol=1e-5)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_attention_masks_are_those_of_a_loop(rows: list[tuple[int, bool]], to_itself: bool, grouped: bool) -> None:
    groups, present = torch.tensor([[group for group, _ in rows]]), torch.tensor([[there for _, there in rows]])
    mask = attention_mask(present, groups if grouped else None, to_itself)[0]
    for i, (group, _) in enumerate(rows):
        expected = {
            j
            for j, (other, there) in enumerate(rows)
            if there and (other == group or not grouped) and (i != j or to_itself)
        }
        assert set(mask[i].nonzero()[:, 0].tolist()) == (expected or {i})


def test_attention_to_candidates_is_the_mean_over_heads_and_special_tokens() -> None:
    made, asking, candidates = cross(), vectors(2, 3 * WIDTH), vectors(5, 3 * WIDTH)
    found = made.attention(asking, candidates)
    expected = torch.zeros(2, 5)
    with torch.no_grad():
        for query in range(2):
            for token in range(3):
                own, part = made.layers[token].attention.self, slice(token * WIDTH, (token + 1) * WIDTH)
                q, k = own.query(asking[query, part]), own.key(candidates[:, part])
                for head in (slice(0, 4), slice(4, 8)):
                    expected[query] += torch.softmax(k[:, head] @ q[head] / 2.0, 0) / 6
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(1), torch.ones(2))
    own_pools = torch.stack([candidates, candidates.flip(0)])
    torch.testing.assert_close(made.attention(asking, own_pools)[1], found[1].flip(0))


def test_absent_candidates_have_no_weight() -> None:
    made, asking, candidates = cross(), vectors(1, 3 * WIDTH), vectors(5, 3 * WIDTH)
    there = torch.tensor([[True, True, False, True, False]])
    logs = made.log_attention(asking, candidates, there)
    torch.testing.assert_close(logs.exp()[there], made.attention(asking, candidates[there[0]])[0])
    assert (logs[~there] == -torch.inf).all()


def test_by_hand() -> None:
    """One head of width 2 whose queries and keys are the vectors: scores 1·1/√2 and 0."""
    model = BertModel(
        BertConfig(vocab_size=5, hidden_size=2, num_hidden_layers=1, num_attention_heads=1, intermediate_size=2),
        add_pooling_layer=False,
    )
    made = CrossLayers(CrossConfig(1), model, scaled=True)
    own = made.layers[0].attention.self
    with torch.no_grad():
        for linear in (own.query, own.key):
            linear.weight.copy_(torch.eye(2))
            linear.bias.zero_()
    weight = math.exp(1 / math.sqrt(2)) / (math.exp(1 / math.sqrt(2)) + 1)
    found = made.attention(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    torch.testing.assert_close(found, torch.tensor([[weight, 1 - weight]]))


def test_flops_grow_with_the_square_of_the_sequences_in_attention_alone() -> None:
    made = cross(tokens=2)
    parameters = sum(p.numel() for p in made.layers[0].parameters())
    assert float(made.flops(torch.tensor([3, 5]))) == 2 * (6 * parameters * 8 + 12 * WIDTH * (9 + 25))


def test_gradients_of_attention_are_numbers_where_candidates_are_absent() -> None:
    made, queries = cross(), vectors(2, 3 * WIDTH).requires_grad_()
    found = made.log_attention(queries, vectors(2, 3, 3 * WIDTH), torch.tensor([[True] * 3, [True, False, False]]))
    assert found[1].tolist()[1:] == [-math.inf] * 2 and found[1, 0].item() == pytest.approx(0, abs=1e-6)
    found[:, 0].sum().backward()
    assert queries.grad is not None and torch.isfinite(queries.grad).all()


def test_layers_that_start_from_copies_return_the_mean_of_what_is_alike() -> None:
    model = BertModel(
        BertConfig(vocab_size=5, hidden_size=WIDTH, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16),
        add_pooling_layer=False,
    )
    layer = CrossLayers(CrossConfig(1, start="copy"), model, scaled=True).eval().layers[0]
    attention = layer.attention
    assert torch.equal(attention.self.query.weight, attention.self.key.weight)
    states = vectors(1, 3, WIDTH)
    heads = attention.self.query(states).view(3, 2, 4)
    read = [(torch.einsum("qd,kd->qk", heads[:, h], heads[:, h]) / 2.0).softmax(-1) @ states[0, :, 4 * h : 4 * h + 4] for h in (0, 1)]  # fmt: skip  # noqa: E501
    expected = torch.nn.functional.layer_norm(torch.cat(read, dim=1) + states[0], (WIDTH,), eps=1e-12)
    expected = torch.nn.functional.layer_norm(expected, (WIDTH,), eps=1e-12)
    torch.testing.assert_close(layer(states, None)[0], expected, atol=1e-5, rtol=1e-5)
