"""Speed of a step of Cross-Thought compared with plain transformers, its memory, and its ranking.

    python benchmarks/cross_thought.py [--parts training growth ranking] [--size small] [--special-tokens 1 5]
        [--sequences 50 100 200 500] [--tokens 64] [--batch 1] [--rounds 5]

Needs the extra `workbench`; some ten minutes on two cores. Samples are made up, of articles of 500 tokens on average
and 300 by median, the last sequence of each shorter than the others.

training    ours: one optimizer step on samples of the smallest of --sequences; sequences of like length together, and
            masked positions only in the last layer and in the logits
            parts: the same weights, masked tokens and optimizer in one padded call of BertModel,
            `nn.TransformerEncoderLayer` for each cross layer and over [C; H], and logits of all tokens. The benchmark
            ends with an error unless both losses, without dropout, agree to 1e-4
growth      a step with activations recomputed, on one sample of each of --sequences, in a new process: its
            duration, the share of its layers across sequences, and the most memory that the process ever had
ranking     questions a second whose 1,000 candidates, vectors at hand, are scored by attention and by cosine on one
            thread

Prints medians in turns, their ratio, tokens a second (special ones counted, padding not), and what share of the
device's measured matrix product both make of the FLOPs that ours needs.
"""

import argparse
import copy
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import torch
from cmlm import matmul_peak, padded
from torch import Tensor, nn
from turns import measure_in_turns

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import CrossConfig, Lengths, TableSizes
from contexture.encoders.layout import row_lengths
from contexture.objectives.cross_thought import CrossThought
from contexture.objectives.masking import IGNORED_TARGET
from contexture.objectives.settings import CrossThoughtConfig
from contexture.streams.base import Batching
from contexture.streams.sequence_samples.batches import SequenceSamples
from contexture.streams.sequence_samples.config import SampleSampling, SequenceSamplesConfig
from contexture.tasks.ranking.evaluation import make_key_function, make_score_function
from contexture.training.config import OptimizerConfig
from contexture.training.optimizers import build_optimizer

#: Batches that are measured one after the other.
BATCHES = 2
CANDIDATES, QUESTIONS = 1000, 50
POSITIONS = 565


class Ours(nn.Module):
    """The encoder and its objective, as the project trains them."""

    def __init__(self, size: str, special_tokens: int, tokens: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        lengths = Lengths(query=tokens, document=tokens)
        cross = CrossConfig(special_tokens)
        config = made_up.transformer(size, dropout=0.1, pooling="cls", initialization="bert", cross=cross)
        self.encoder = build_encoder(config, lengths, made_up.vocabulary(), TableSizes(POSITIONS), head=True)
        self.objective = CrossThought(CrossThoughtConfig(), self.encoder)

    def forward(self, batch: Any) -> Tensor:
        """The loss."""
        states = self.encoder.sequence_states(batch["sequences"]["chunks"])
        loss: Tensor = self.objective(self.encoder, states, batch).value
        return loss

    def flops(self, batch: Any) -> float:
        """Those of a step that are needed."""
        return float(
            self.encoder.transformer.layer_flops(row_lengths(batch["sequences"])) + self.objective.flops(batch)
        )


class Parts(nn.Module):
    """The same weights in the modules of the libraries; every position is computed to the end."""

    def __init__(self, ours: Ours) -> None:
        super().__init__()
        assert ours.encoder.cross is not None
        self.num_leading, self.model = ours.objective.num_leading, copy.deepcopy(ours.encoder.document.model)
        self.cross = nn.ModuleList(torch_layer(layer) for layer in ours.encoder.cross.layers)
        self.last = torch_layer(ours.objective.last)

    def forward(self, batch: Any) -> Tensor:
        """The loss."""
        ids, mask, positions, targets = padded(
            batch["sequences"], ("input_ids", "attention_mask", "position_ids", "targets")
        )
        states = self.model.bert(input_ids=ids, attention_mask=mask, position_ids=positions).last_hidden_state
        grid, present = batch["grid"], batch["present"]
        grid_states = states.new_zeros(present.numel(), *states[:, : self.num_leading].shape[1:])
        grid_states = grid_states.index_copy(0, grid, states[:, : self.num_leading]).unflatten(0, present.shape)
        read = [layer(grid_states[:, :, n], src_key_padding_mask=~present) for n, layer in enumerate(self.cross)]
        leaders = torch.stack(read, dim=2).flatten(0, 1)[grid]
        merged = torch.cat([leaders, states[:, self.num_leading :]], dim=1)
        logits = self.model.cls(self.last(merged, src_key_padding_mask=mask == 0))
        targets = targets.where(mask.bool(), IGNORED_TARGET)
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED_TARGET)


def torch_layer(layer: Any) -> nn.TransformerEncoderLayer:
    """A layer of BERT as PyTorch's own, without the dropout between its feed-forward layers, which BERT has not."""
    attention, out, inner = layer.attention.self, layer.attention.output, layer.intermediate.dense
    made = nn.TransformerEncoderLayer(
        inner.in_features, attention.num_attention_heads, inner.out_features, attention.dropout.p, nn.functional.gelu,
        out.LayerNorm.eps, batch_first=True,
    )  # fmt: skip
    made.dropout = nn.Identity()  # type: ignore[assignment]
    with torch.no_grad():
        for name in ("weight", "bias"):
            stacked = torch.cat([getattr(part, name) for part in (attention.query, attention.key, attention.value)])
            getattr(made.self_attn, f"in_proj_{name}").copy_(stacked)
    for mine, theirs in (
        (made.self_attn.out_proj, out.dense), (made.norm1, out.LayerNorm), (made.linear1, inner),
        (made.linear2, layer.output.dense), (made.norm2, layer.output.LayerNorm),
    ):  # fmt: skip
        mine.load_state_dict(theirs.state_dict())
    return made


def made_batches(ours: Ours, count: int, batch: int, sequences: int, tokens: int) -> list[Any]:
    """Return `count` masked batches of `batch` samples."""
    config = SequenceSamplesConfig(sampling=SampleSampling(sequences, tokens), positions=POSITIONS)
    with tempfile.TemporaryDirectory() as made:
        made_up.write_sequence_samples(Path(made), count * batch, sequences, tokens)
        stream = SequenceSamples(config, Path(made) / "sequence_samples", ours.encoder, 0, Batching(batch))
        clean = [stream.batch(step, 0) for step in range(count)]
    return [ours.objective.corrupt(batch, torch.Generator().manual_seed(step)) for step, batch in enumerate(clean)]


def stepper(module: nn.Module) -> Callable[[Any], None]:
    """One optimizer step on a batch."""
    optimizer = build_optimizer(module.parameters(), OptimizerConfig(learning_rate=1e-4))

    def step(batch: Any) -> None:
        module(batch).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def training(args: argparse.Namespace, special_tokens: int) -> None:
    """Compare ours with its parts."""
    sequences = min(args.sequences)
    ours = Ours(args.size, special_tokens, args.tokens)
    batches = made_batches(ours, BATCHES, args.batch, sequences, args.tokens)
    sides: dict[str, nn.Module] = {"ours": ours, "parts": Parts(ours)}
    with torch.no_grad():
        losses = [float(side.eval()(batches[0])) for side in sides.values()]
    if abs(losses[0] - losses[1]) > 1e-4:
        raise SystemExit(f"ours has a loss of {losses[0]}, its parts of {losses[1]}")
    steps = {name: stepper(side.train()) for name, side in sides.items()}

    def train(step: Callable[[Any], None]) -> None:
        for batch in batches:
            step(batch)

    durations = measure_in_turns({name: partial(train, step) for name, step in steps.items()}, args.rounds)
    medians = {name: duration / BATCHES for name, duration in durations.items()}

    flops = sum(map(ours.flops, batches)) / BATCHES
    lengths = torch.cat([row_lengths(batch["sequences"]) for batch in batches]).double()
    tokens, peak = float(lengths.sum()) / BATCHES, matmul_peak(False)
    print(
        f"\n{args.size}, {args.batch} samples of {sequences} sequences of {args.tokens} tokens, {special_tokens} "
        f"special; {1 - float((lengths / lengths.max()).mean()):.0%} padding; {torch.get_num_threads()} threads"
    )
    print(f"a matrix product makes {peak / 1e9:.0f} GFLOP/s; a step needs {flops / 1e9:.1f} GFLOP")
    for name, median in medians.items():
        print(f"{name:6} {median:6.3f} s a step  {tokens / median:8,.0f} tokens/s  {flops / median / peak:5.0%} of it")
    print(f"ratio  {medians['parts'] / medians['ours']:6.2f} times the tokens a second")


def recomputed(size: str, special_tokens: int, sequences: int, tokens: int) -> tuple[float, float, float]:
    """Seconds of a step on one sample, those of the cross layers, and the most memory there was, in GB."""
    ours = Ours(size, special_tokens, tokens).train()
    ours.encoder.recompute = True
    (batch,) = made_batches(ours, 1, 1, sequences, tokens)
    step = stepper(ours)
    step(batch)  # warms up
    whole = seconds(lambda: step(batch))
    cross = ours.encoder.cross
    assert cross is not None
    vectors = torch.randn(*batch["present"].shape, special_tokens * ours.encoder.hidden_size, requires_grad=True)
    across = min(seconds(lambda: cross(vectors, batch["present"]).sum().backward()) for _ in range(3))
    return whole, across, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def growth(args: argparse.Namespace, special_tokens: int) -> None:
    """Time and memory by the number of sequences."""
    print(f"\n{special_tokens} special tokens, activations recomputed")
    print("sequences   s a step   ms a sequence   cross layers   memory")
    for sequences in args.sequences:
        # A new process: the highest memory of a process does not shrink.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            job = (args.size, special_tokens, sequences, args.tokens)
            whole, across, memory = pool.apply(recomputed, job)
        each = 1000 * whole / sequences
        print(f"{sequences:9}   {whole:8.3f}   {each:13.2f}   {across / whole:12.2%}   {memory:.2f} GB")


def ranking(args: argparse.Namespace, special_tokens: int) -> None:
    """Questions a second on one thread."""
    encoder: Encoder = Ours(args.size, special_tokens, args.tokens).encoder.eval()
    rng = np.random.default_rng(0)
    questions, candidates = (
        rng.standard_normal((count, encoder.dimension)).astype(np.float32) for count in (QUESTIONS, CANDIDATES)
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    compare = {
        "attention": (make_score_function(encoder, "alpha"), make_key_function(encoder)(candidates)),
        "cosine": (make_score_function(encoder, "cosine"), candidates),
    }

    def rank(score: Any, kept: Any) -> None:
        for question in questions:
            score(question, kept).argsort()

    medians = measure_in_turns({name: partial(rank, *both) for name, both in compare.items()}, args.rounds)
    torch.set_num_threads(threads)
    print(f"\n{special_tokens} special tokens, {CANDIDATES:,} candidates, vectors of {encoder.dimension:,}, one thread")
    for name, median in medians.items():
        print(f"{name:9} {QUESTIONS / median:8,.0f} questions/s")


PARTS = {"training": training, "growth": growth, "ranking": ranking}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--size", choices=list(made_up.SIZES), default="small")
    parser.add_argument("--special-tokens", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--sequences", nargs="+", type=int, default=[50, 100, 200, 500])
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args(arguments)
    for part in args.parts:
        for special_tokens in args.special_tokens:
            PARTS[part](args, special_tokens)


if __name__ == "__main__":
    main()
