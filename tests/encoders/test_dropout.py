"""Dropout that draws distances between dropped entries."""

import pytest
import torch
from torch import nn

from contexture.encoders.dropout import SparseDropout, draw_dropped, replace_dropout


@pytest.mark.parametrize("probability", [0.01, 0.1, 0.6])
def test_entries_are_dropped_independently(probability: float) -> None:
    """The share of dropped entries and of dropped neighbours, within four standard deviations."""
    torch.manual_seed(0)
    count = 200_000
    dropped = torch.zeros(count, dtype=torch.bool).index_fill_(0, draw_dropped(count, probability), True)
    for events, expected in ((dropped, probability), (dropped[1:] & dropped[:-1], probability**2)):
        assert abs(float(events.float().mean()) - expected) < 4 * (2 * expected / count) ** 0.5
    assert {bool(draw_dropped(1, 0.5).numel()) for _ in range(20)} == {True, False}
    first_and_last = torch.stack([torch.isin(torch.tensor([0, 9]), draw_dropped(10, 0.6)) for _ in range(2_000)])
    torch.testing.assert_close(first_and_last.float().mean(0), torch.full((2,), 0.6), atol=0.05, rtol=0)


def test_values_and_gradients_are_scaled() -> None:
    torch.manual_seed(0)
    values = torch.rand(40, 30).add_(1).T.requires_grad_()  # not contiguous
    result = SparseDropout(0.2)(values)
    kept = result != 0
    assert 0.7 < float(kept.float().mean()) < 0.9
    torch.testing.assert_close(result, values * kept / 0.8)
    result.backward(2 * torch.ones_like(result))
    torch.testing.assert_close(values.grad, kept * 2 / 0.8)


def test_nothing_is_dropped_in_evaluation_or_without_probability() -> None:
    values = torch.rand(40, 30)
    assert torch.equal(SparseDropout(0.2).eval()(values), values)
    assert torch.equal(SparseDropout(0.0)(values), values)
    assert not SparseDropout(1.0)(values).any()


def test_the_seed_decides_and_the_number_of_threads_does_not() -> None:
    values, threads, results = torch.rand(400, 300), torch.get_num_threads(), []
    for count in (1, 2):
        torch.set_num_threads(count)
        torch.manual_seed(5)
        results += [SparseDropout(0.1)(values), SparseDropout(0.1)(values)]
    torch.set_num_threads(threads)
    assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[3])
    assert not torch.equal(results[0], results[1])


def test_all_dropout_of_a_model_is_replaced() -> None:
    model = nn.Sequential(nn.Dropout(0.3), nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)))
    replace_dropout(model)
    assert [(type(m), m.p) for m in model.modules() if isinstance(m, nn.Dropout)] == [
        (SparseDropout, 0.3),
        (SparseDropout, 0.1),
    ]
