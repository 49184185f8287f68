"""Tokens a second that one core makes into batches, beside what a GPU would eat.

    python benchmarks/collate.py [--config data/05_model_input/league/training.json] [--batch 256] [--steps 8]
        [--ranks 1] [--passes 1] [--profile pairs]

Needs no extra; half a minute. Without --config the examples are made up, with lengths as in an encyclopedia: sentences
of 24 tokens on average, documents that fill 288; with it they are those of a system, beside the file that the examples
stage wrote.

tokens/s  real ones, of what training reads for one device, by this process's CPU time, hence of one core, however busy
          the others are: from the row groups of a Parquet file to the tensors of a batch. The first step, which opens
          the files, is left out. --batch are the rows of an optimizer step on one device; each of --ranks devices
          reads the rows of all and takes its part, --passes cuts it into so many forward passes.
GPU       what forward and backward passes take at half of the peak of dense bf16: 6 FLOPs a parameter of the layers
          and token, and attention; embeddings and logits cost more, so that real training eats less
cores     that feed one GPU
"""

import argparse
import cProfile
import pstats
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from made_up import LENGTHS, PEAKS, transformer, vocabulary, write_examples
from torch import Tensor

from contexture.commands.train import read_config
from contexture.encoders.base import build_encoder
from contexture.encoders.layout import row_lengths
from contexture.encoders.transformer import Transformer, layer_flops
from contexture.imports import resolve
from contexture.streams.base import Batching, Stream
from contexture.streams.config import STREAMS

_UTILISATION = 0.5
_GPUS = ("H100", "A100")
_SHOWN = ("base", "small")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--tokens-at-once", type=int, default=16384)
    parser.add_argument("--profile", choices=sorted(STREAMS), help="show where the time of this stream goes")
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        if given.config is None:
            folder, lengths = Path(temporary), LENGTHS
            streams: dict[str, Any] = {name: kind() for name, kind in STREAMS.items()}
            write_examples(folder, given.batch * given.ranks * (given.steps + 1))
        else:
            config = read_config(given.config)
            folder, lengths, streams = given.config.parent, config.lengths, config.streams
        encoder = build_encoder(transformer("tiny"), lengths, vocabulary())
        steps = Batching(given.batch * given.ranks, given.passes, 0, given.ranks, given.tokens_at_once)
        print(f"a step of {given.batch} rows a device, {given.ranks} devices, {given.passes} passes")
        heads = [f"{gpu}, {size}" for gpu in _GPUS for size in _SHOWN]
        print(f"{'stream':12s} {'tokens/row':>10s} {'tokens/s':>11s}  " + "  ".join(f"{head:>20s}" for head in heads))
        for name, settings in streams.items():
            place = folder / settings.examples
            stream: Stream = resolve(settings.implementation)(settings, place, encoder, 0, steps)
            measure(name, stream, given.steps, given.profile == name)


def measure(name: str, stream: Stream, steps: int, profiled: bool) -> None:
    """A row of the table: tokens/s of each GPU and size, and in brackets the cores that feed it."""
    passes = stream.batching.passes if stream.can_split else 1
    stream.batch(0, 0)
    lengths = []
    profile = cProfile.Profile()
    began = time.process_time()
    if profiled:
        profile.enable()
    for step in range(1, steps + 1):
        lengths += [row_lengths(stream.batch(step, part)) for part in range(passes)]
    profile.disable()
    every = torch.cat(lengths).double()
    speed = float(every.sum()) / (time.process_time() - began)
    cells = []
    for gpu in _GPUS:
        for size in _SHOWN:
            eaten = PEAKS[gpu] * _UTILISATION * float(every.sum()) / flops(size, every)
            cells.append(f"{eaten / 1e6:10.2f}M ({eaten / speed:5.1f})")
    print(f"{name:12s} {every.mean():10.1f} {speed / 1e6:10.2f}M  " + "  ".join(f"{cell:>20s}" for cell in cells))
    if profiled:
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)


def flops(size: str, lengths: Tensor) -> float:
    """Forward and backward FLOPs of the layers for rows of `lengths` (B,) real tokens."""
    with torch.device("meta"):  # nothing is allocated
        encoder = build_encoder(transformer(size), LENGTHS, vocabulary())
    network = encoder.document
    assert isinstance(network, Transformer)
    return float(layer_flops(network.base, lengths))


if __name__ == "__main__":
    main()
