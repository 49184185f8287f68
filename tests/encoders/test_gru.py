import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from contexture.encoders.gru import run_gru

LENGTHS = torch.tensor([3, 7, 1, 7, 4])


def run_both(bidirectional: bool, with_start: bool) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return states, last states and all gradients of `run_gru`, and of PyTorch sentence by sentence."""
    torch.manual_seed(0)
    gru = nn.GRU(4, 6, bidirectional=bidirectional).double().float()
    words = torch.randn(5, 7, 4, requires_grad=True)
    start = torch.randn(1 + bidirectional, 5, 6, requires_grad=True) if with_start else None
    weights = torch.randn(22, 6 * (1 + bidirectional))
    last_weights = torch.randn(1 + bidirectional, 5, 6)
    packed = pack_padded_sequence(words, LENGTHS, batch_first=True, enforce_sorted=False)

    states, last = run_gru(gru, packed, start)
    leaves = [*gru.parameters(), words, *([start] if start is not None else [])]
    ours = torch.autograd.grad((states * weights).sum() + (last * last_weights).sum(), leaves)

    single = [gru(words[i, :n, None], None if start is None else start[:, i : i + 1]) for i, n in enumerate(LENGTHS)]
    padded = nn.utils.rnn.pad_sequence([s[:, 0] for s, _ in single], batch_first=True)
    expected = pack_padded_sequence(padded, LENGTHS, batch_first=True, enforce_sorted=False).data
    expected_last = torch.cat([h for _, h in single], dim=1)
    slow = torch.autograd.grad((expected * weights).sum() + (expected_last * last_weights).sum(), leaves)
    return [states, last, *ours], [expected, expected_last, *slow]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("with_start", [False, True])
def test_results_equal_pytorchs_for_each_sentence(bidirectional: bool, with_start: bool) -> None:
    for ours, expected in zip(*run_both(bidirectional, with_start), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)


def test_gradients_of_only_last_states_and_of_only_states() -> None:
    gru = nn.GRU(2, 3)
    packed = pack_padded_sequence(torch.randn(2, 4, 2), torch.tensor([2, 4]), batch_first=True, enforce_sorted=False)
    states, last = run_gru(gru, packed)
    (from_last,) = torch.autograd.grad(last.sum(), [gru.weight_hh_l0], retain_graph=True)
    ends = torch.zeros_like(states)
    ends[[3, 5]] = 1  # steps hold 2, 2, 1, 1 words: the shorter sentence ends in row 3
    (from_states,) = torch.autograd.grad((states * ends).sum(), [gru.weight_hh_l0])
    torch.testing.assert_close(from_last, from_states)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_results_on_a_gpu() -> None:
    torch.manual_seed(2)
    gru = nn.GRU(4, 6, bidirectional=True)
    packed = pack_padded_sequence(torch.randn(5, 7, 4), LENGTHS, batch_first=True, enforce_sorted=False)
    on_cpu = run_gru(gru, packed)
    on_gpu = run_gru(gru.cuda(), packed.to("cuda"))
    for ours, expected in zip(on_cpu, on_gpu, strict=True):
        torch.testing.assert_close(ours, expected.cpu(), rtol=1e-3, atol=1e-4)
