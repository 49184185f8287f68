"""States without padding equal those of the whole model."""

import numpy as np
import pytest
import torch
from torch import Tensor

from contexture.encoders.dropout import draw_dropped
from contexture.encoders.packed import PlainAttention, packed_states

from .test_first_states import build_model, inputs

LENGTHS = np.array([9, 4, 1])
PRESENT = torch.arange(9) < torch.tensor(LENGTHS)[:, None]


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_states_and_gradients_equal_those_of_the_whole_model(family: str, reads: bool) -> None:
    whole, packed = build_model(family), build_model(family)
    read = PRESENT & (torch.rand(3, 9, generator=torch.Generator().manual_seed(2)) < 0.4) if reads else None
    chosen = PRESENT if read is None else read
    states = packed_states(packed, inputs(), LENGTHS, read)
    expected = whole(**inputs()).last_hidden_state
    torch.testing.assert_close(states[chosen], expected[chosen], atol=1e-5, rtol=1e-5)
    assert not states[~chosen].any()
    expected[chosen].pow(3).sum().backward()
    states.pow(3).sum().backward()
    for (name, left), right in zip(whole.named_parameters(), packed.parameters(), strict=True):
        torch.testing.assert_close(right.grad, left.grad, atol=1e-3, rtol=1e-4, msg=lambda text, n=name: f"{n}: {text}")


def test_an_empty_row_and_a_batch_in_which_nothing_is_read() -> None:
    model = build_model("bert")
    expected = packed_states(model, inputs(), LENGTHS)
    shorter = packed_states(model, inputs(), np.array([9, 0, 1]))
    torch.testing.assert_close(shorter[[0, 2]], expected[[0, 2]], atol=1e-5, rtol=1e-5)
    nothing = packed_states(model, inputs(), LENGTHS, torch.zeros_like(PRESENT))
    assert not nothing.any()
    nothing.sum().backward()


def test_dropout_depends_on_the_seed_alone() -> None:
    model, results = build_model("bert").train(), []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        results.append(packed_states(model, inputs(), LENGTHS))
    assert torch.equal(results[0], results[1]) and not torch.allclose(results[0], results[2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_plain_attention_equals_its_definition(dropout: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    parts = [torch.randn(3, 2, 7, 4, requires_grad=True) for _ in range(3)]
    torch.manual_seed(1)
    result = PlainAttention.apply(*(part.to(dtype) for part in parts), dropout)
    torch.manual_seed(1)
    kept = torch.ones(3 * 2 * 7 * 7)
    if dropout:
        kept.index_fill_(0, draw_dropped(len(kept), dropout), 0)
    copies = [part.detach().clone().requires_grad_() for part in parts]
    query, key, value = copies
    weights = (query @ key.mT / 2).softmax(-1) * kept.view(3, 2, 7, 7) / (1 - dropout)
    expected = weights @ value

    def assert_close(left: Tensor, right: Tensor) -> None:
        tolerance = 1e-5 if dtype == torch.float32 else 5e-2
        torch.testing.assert_close(left.float(), right, atol=tolerance, rtol=tolerance)

    assert_close(result, expected)
    result.float().pow(2).sum().backward()
    expected.pow(2).sum().backward()
    for part, copy in zip(parts, copies, strict=True):
        assert part.grad is not None and copy.grad is not None
        assert_close(part.grad / part.grad.abs().max(), copy.grad / copy.grad.abs().max())


def test_bfloat16_is_close_to_float32() -> None:
    model = build_model("bert")
    for parameter in model.parameters():
        parameter.data *= 0.3
    expected = packed_states(model, inputs(), LENGTHS)
    with torch.autocast("cpu", torch.bfloat16):
        states = packed_states(model, inputs(), LENGTHS)
    torch.testing.assert_close(states.float(), expected, atol=0.1, rtol=0.05)
    states.float().sum().backward()
