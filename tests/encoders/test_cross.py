"""Layers across sequences, compared with slow loops and numbers computed by hand."""

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


def bert(width: int = WIDTH, heads: int = 2) -> BertModel:
    sizes = {"hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": heads, "intermediate_size": 2 * width}
    return BertModel(BertConfig(vocab_size=20, **sizes), add_pooling_layer=False)


def cross(tokens: int = 3, layers: Any = "own") -> CrossLayers:
    torch.manual_seed(0)
    model = CrossLayers(CrossConfig(tokens, layers=layers), bert(), scaled=True)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model.eval()


def vectors(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def slow_layer(layer: Any, rows: Tensor, seen: list[list[int]]) -> Tensor:
    attention, heads = layer.attention.self, 2
    size = WIDTH // heads
    outputs = []
    for row, visible in zip(rows, seen, strict=True):
        read = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            query, keys = attention.query(row)[part], [attention.key(rows[j])[part] for j in visible]
            scores = [math.exp(float(query @ key) / math.sqrt(size)) for key in keys]
            weights = torch.tensor(scores) / sum(scores)
            values = [weight * attention.value(rows[j])[part] for weight, j in zip(weights, visible, strict=True)]
            read.append(torch.stack(values).sum(0))
        attended = layer.attention.output.LayerNorm(layer.attention.output.dense(torch.cat(read)) + row)
        inner = torch.nn.functional.gelu(layer.intermediate.dense(attended))
        outputs.append(layer.output.LayerNorm(layer.output.dense(inner) + attended))
    return torch.stack(outputs)


@pytest.mark.parametrize("layers", ["own", "shared"])
def test_each_special_token_has_a_transformer_layer_over_the_sequences(layers: str) -> None:
    model, states = cross(layers=layers), vectors(2, 4, 3 * WIDTH)
    present = torch.tensor([[True, True, True, True], [True, True, False, False]])
    outputs = model(states, present)
    assert outputs.shape == states.shape and torch.isfinite(outputs).all()
    assert len(model.layers) == (3 if layers == "own" else 1)
    with torch.no_grad():
        for sample, count in enumerate((4, 2)):
            for token in range(3):
                part = slice(token * WIDTH, (token + 1) * WIDTH)
                layer = model.layers[token if layers == "own" else 0]
                expected = slow_layer(layer, states[sample, :count, part], [list(range(count))] * count)
                torch.testing.assert_close(outputs[sample, :count, part], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("groups", "to_itself", "seen"),
    [
        ([[7, 7, 8, 7]], True, [[0, 1, 3], [0, 1, 3], [2], [0, 1, 3]]),
        (None, False, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]),
        ([[7, 7, 8, 7]], False, [[1, 3], [0, 3], [2], [0, 1]]),
    ],
)
def test_sequences_may_ignore_other_documents_and_themselves(
    groups: Any, to_itself: bool, seen: list[list[int]]
) -> None:
    """A sequence without others, the third of the last case, attends to itself."""
    model, states = cross(), vectors(1, 4, 3 * WIDTH)
    numbers = None if groups is None else torch.tensor(groups)
    outputs = model(states, torch.ones(1, 4, dtype=torch.bool), numbers, to_itself=to_itself)
    with torch.no_grad():
        for token in range(3):
            part = slice(token * WIDTH, (token + 1) * WIDTH)
            expected = slow_layer(model.layers[token], states[0, :, part], seen)
            torch.testing.assert_close(outputs[0, :, part], expected, atol=1e-5, rtol=1e-5)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_attention_masks_equal_those_of_a_loop(rows: list[tuple[int, bool]], to_itself: bool, grouped: bool) -> None:
    groups, present = torch.tensor([[group for group, _ in rows]]), torch.tensor([[exists for _, exists in rows]])
    mask = attention_mask(present, groups if grouped else None, to_itself)[0]
    for i, (group, _) in enumerate(rows):
        same = [exists and (other == group or not grouped) for other, exists in rows]
        expected = {j for j, visible in enumerate(same) if visible and (i != j or to_itself)}
        assert set(mask[i].nonzero()[:, 0].tolist()) == (expected or {i})


def test_attention_to_candidates_is_the_mean_over_heads_and_special_tokens() -> None:
    model, queries, candidates = cross(), vectors(2, 3 * WIDTH), vectors(5, 3 * WIDTH)
    outputs = model.log_attention(queries, candidates).exp()
    expected = torch.zeros(2, 5)
    with torch.no_grad():
        for query in range(2):
            for token in range(3):
                layer, part = model.layers[token].attention.self, slice(token * WIDTH, (token + 1) * WIDTH)
                q, k = layer.query(queries[query, part]), layer.key(candidates[:, part])
                for head in (slice(0, 4), slice(4, 8)):
                    expected[query] += torch.softmax(k[:, head] @ q[head] / 2.0, 0) / 6
    torch.testing.assert_close(outputs, expected)
    torch.testing.assert_close(outputs.sum(1), torch.ones(2))
    separate_candidates = torch.stack([candidates, candidates.flip(0)])
    torch.testing.assert_close(model.log_attention(queries, separate_candidates).exp()[1], outputs[1].flip(0))


def test_absent_candidates_have_no_weight() -> None:
    model, queries, candidates = cross(), vectors(1, 3 * WIDTH), vectors(5, 3 * WIDTH)
    present = torch.tensor([[True, True, False, True, False]])
    logs = model.log_attention(queries, candidates, present)
    torch.testing.assert_close(logs.exp()[present], model.log_attention(queries, candidates[present[0]]).exp()[0])
    assert (logs[~present] == -torch.inf).all()


def test_by_hand() -> None:
    """One head of width 2 whose queries and keys are the vectors: scores 1·1/√2 and 0."""
    model = CrossLayers(CrossConfig(1), bert(2, 1), scaled=True)
    attention = model.layers[0].attention.self
    with torch.no_grad():
        for linear in (attention.query, attention.key):
            linear.weight.copy_(torch.eye(2))
            linear.bias.zero_()
    weight = math.exp(1 / math.sqrt(2)) / (math.exp(1 / math.sqrt(2)) + 1)
    outputs = model.log_attention(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])).exp()
    torch.testing.assert_close(outputs, torch.tensor([[weight, 1 - weight]]))


def test_flops_by_hand() -> None:
    model = cross(tokens=2)
    parameters = sum(p.numel() for p in model.layers[0].parameters())
    assert float(model.flops(torch.tensor([3, 5]))) == 2 * (6 * parameters * 8 + 12 * WIDTH * (9 + 25))


def test_gradients_are_finite_with_absent_candidates() -> None:
    model, queries = cross(), vectors(2, 3 * WIDTH).requires_grad_()
    outputs = model.log_attention(queries, vectors(2, 3, 3 * WIDTH), torch.tensor([[True] * 3, [True, False, False]]))
    assert outputs[1].tolist()[1:] == [-math.inf] * 2 and outputs[1, 0].item() == pytest.approx(0, abs=1e-6)
    outputs[:, 0].sum().backward()
    assert queries.grad is not None and torch.isfinite(queries.grad).all()


def test_copy_layers_return_the_mean_of_similar_states() -> None:
    layer = CrossLayers(CrossConfig(1, start="copy"), bert(), scaled=True).eval().layers[0]
    attention = layer.attention
    assert torch.equal(attention.self.query.weight, attention.self.key.weight)
    states = vectors(1, 3, WIDTH)
    heads = attention.self.query(states).view(3, 2, 4)
    read = []
    for h in (0, 1):
        scores = torch.einsum("qd,kd->qk", heads[:, h], heads[:, h]) / 2.0
        read.append(scores.softmax(-1) @ states[0, :, 4 * h : 4 * h + 4])
    expected = torch.nn.functional.layer_norm(torch.cat(read, dim=1) + states[0], (WIDTH,), eps=1e-12)
    expected = torch.nn.functional.layer_norm(expected, (WIDTH,), eps=1e-12)
    torch.testing.assert_close(layer(states, None)[0], expected, atol=1e-5, rtol=1e-5)
