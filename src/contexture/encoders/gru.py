"""A GRU over words (Quick-Thoughts, section 3) that does not compute padding and is fast on CPUs.

On CPUs PyTorch's GRU is less than half as fast with packed input as with padded input, because the gradient of each
step fills a tensor as large as the whole input. Here a step reads and writes only its rows, and gradients of weights
are one product over all steps. GPUs use PyTorch's GRU (cuDNN).
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from contexture.encoders.config import GruConfig
from contexture.encoders.layout import Batch
from contexture.encoders.network import Network
from contexture.vocabulary.tokenizers import SpecialTokens


class Gru(Network):
    """A GRU of one layer, in one or both directions; its last states are the vector."""

    def __init__(self, config: GruConfig, words: nn.Embedding, tokens: SpecialTokens) -> None:
        super().__init__(tokens)
        self.words, self.size = words, config.embedding_size
        units = config.embedding_size // (1 + config.bidirectional)
        self.gru = nn.GRU(words.embedding_dim, units, bidirectional=config.bidirectional)
        init_gru(self.gru)

    def forward(self, batch: Batch) -> Tensor:
        """Return vectors (B, D), the GRU's last state of each text in each direction, of a batch of `word_layout`."""
        lengths = batch["attention_mask"].sum(dim=1)
        packed = pack_padded_sequence(batch["input_ids"], lengths.cpu(), batch_first=True, enforce_sorted=False)
        words = self.words(self.replace_unknown(packed.data))
        _, last = run_gru(self.gru, packed._replace(data=words))
        return last.transpose(0, 1).flatten(1)

    def flops(self, lengths: Tensor) -> Tensor:
        """Return the total forward and backward FLOPs of the layer for texts of `lengths` (B,) words."""
        return 6.0 * sum(p.numel() for p in self.gru.parameters()) * lengths.sum()


def init_gru(gru: nn.GRU) -> None:
    """Initialize a GRU: Xavier-uniform matrices per gate; biases 0, one of reset and update gates' 1 (section 4.3)."""
    size = gru.hidden_size
    for name, parameter in gru.named_parameters():
        if name.startswith("weight"):
            for gate in torch.split(parameter, size):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(parameter)
            if name.startswith("bias_ih"):
                nn.init.ones_(parameter[: 2 * size])


def run_gru(gru: nn.GRU, packed: PackedSequence, start: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Run a GRU of one layer, in one or both directions, over packed input.

    `start` (directions, B, H): the state before the first word, in the order of the sentences; default zeros.

    Returns the states of all steps (words, directions·H) in the order of `packed.data`, and each sentence's last state
    (directions, B, H), backwards that at its first word, in the order of the sentences.
    """
    if packed.data.is_cuda:
        # Under autocast cuDNN's GRU may choose half precision, which would need scaled losses.
        with torch.autocast("cuda", enabled=False):
            states, last = gru(packed._replace(data=packed.data.float()), None if start is None else start.float())
        return states.data, last
    sizes = packed.batch_sizes.tolist()
    if start is None:
        start = packed.data.new_zeros(1 + gru.bidirectional, sizes[0], gru.hidden_size)
    elif packed.sorted_indices is not None:
        start = start[:, packed.sorted_indices]
    forward = _run_direction(packed.data, start[0], gru, "", sizes)
    directions = [forward]
    if gru.bidirectional:
        reversed_positions = _reversed_positions(sizes)
        backward, last = _run_direction(packed.data[reversed_positions], start[1], gru, "_reverse", sizes)
        directions.append((backward[reversed_positions], last))
    last = torch.stack([final for _, final in directions])
    if packed.unsorted_indices is not None:
        last = last[:, packed.unsorted_indices]
    return torch.cat([states for states, _ in directions], dim=1), last


def _run_direction(
    words: Tensor, start: Tensor, gru: nn.GRU, direction: str, sizes: list[int]
) -> tuple[Tensor, Tensor]:
    """Return the states of all steps (words, H) and each sentence's last state (B, H) of one direction of a GRU."""
    weights = [getattr(gru, f"{name}_l0{direction}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    states, last = _GruSteps.apply(words, start, *weights, sizes)  # type: ignore[no-untyped-call]
    return states, last


def _reversed_positions(sizes: list[int]) -> Tensor:
    """Return positions in packed data that reverse the words of each sentence; applied twice they restore them."""
    counts = torch.tensor(sizes)
    starts = counts.cumsum(0) - counts
    lengths = (counts[:, None] > torch.arange(sizes[0])).sum(dim=0)
    step = torch.repeat_interleave(torch.arange(len(sizes)), counts)
    sentence = torch.arange(len(step)) - starts[step]
    return starts[lengths[sentence] - 1 - step] + sentence


class _GruSteps(torch.autograd.Function):
    """All steps of one direction; gates in PyTorch's order: reset, update, new."""

    @staticmethod
    def forward(
        ctx: Any, words: Tensor, start: Tensor, w_in: Tensor, w_state: Tensor, b_in: Tensor, b_state: Tensor, sizes: Any
    ) -> tuple[Tensor, Tensor]:
        """Return the states of all steps (words, H), and each sentence's last state (B, H)."""
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else words.dtype
        words, w_in, w_state = words.to(dtype), w_in.to(dtype), w_state.to(dtype)
        size = w_state.shape[1]
        gates = (words @ w_in.t()).float() + b_in
        previous = gates.new_empty(len(words), size)
        proposed = torch.empty_like(previous)  # the state's part of the new gate, before the reset
        states = torch.empty_like(previous)
        last = start.float().clone()
        end = 0
        for count in sizes:
            rows = slice(end, end := end + count)
            now = last[:count]
            previous[rows] = now
            recurrent = (now.to(dtype) @ w_state.t()).float().add_(b_state)
            both = gates[rows, : 2 * size].add_(recurrent[:, : 2 * size]).sigmoid_()
            proposed[rows] = recurrent[:, 2 * size :]
            new = gates[rows, 2 * size :].addcmul_(both[:, :size], proposed[rows]).tanh_()
            now.sub_(new).mul_(both[:, size:]).add_(new)
            states[rows] = now
        ctx.save_for_backward(words, w_in, w_state, gates, previous, proposed)
        ctx.sizes = sizes
        ctx.set_materialize_grads(False)
        return states, last

    @staticmethod
    def backward(ctx: Any, d_states: Tensor | None, d_last: Tensor | None) -> Any:
        """Return the gradients of the inputs of `forward`, given those of its two outputs."""
        words, w_in, w_state, gates, previous, proposed = ctx.saved_tensors
        size, dtype = w_state.shape[1], words.dtype
        d_now = gates.new_zeros(ctx.sizes[0], size) if d_last is None else d_last.float().clone()
        d_in, d_recurrent = torch.empty_like(gates), torch.empty_like(gates)
        first = len(words)
        for count in reversed(ctx.sizes):
            rows = slice(first := first - count, first + count)
            reset, update, new = gates[rows].chunk(3, dim=1)
            d_reset, d_update, d_new = d_in[rows].chunk(3, dim=1)
            d_state = d_now[:count]
            if d_states is not None:
                d_state.add_(d_states[rows])
            torch.mul(d_state, 1 - update, out=d_new).mul_(1 - new * new)
            torch.sub(previous[rows], new, out=d_update).mul_(d_state).mul_(update * (1 - update))
            torch.mul(d_new, proposed[rows], out=d_reset).mul_(reset * (1 - reset))
            d_recurrent[rows, : 2 * size] = d_in[rows, : 2 * size]
            torch.mul(d_new, reset, out=d_recurrent[rows, 2 * size :])
            d_state.mul_(update).add_((d_recurrent[rows].to(dtype) @ w_state).float())
        d_in_, d_recurrent_ = d_in.to(dtype), d_recurrent.to(dtype)
        return (
            (d_in_ @ w_in).float() if ctx.needs_input_grad[0] else None,
            d_now if ctx.needs_input_grad[1] else None,
            (d_in_.t() @ words).float(),
            (d_recurrent_.t() @ previous.to(dtype)).float(),
            d_in.sum(0),
            d_recurrent.sum(0),
            None,
        )
