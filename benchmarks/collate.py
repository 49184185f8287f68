"""Tokens a second that one core makes into batches, compared with what a GPU would eat.

    python benchmarks/collate.py [--config data/05_model_input/league/training.json] [--batch 256] [--steps 8]
        [--ranks 1] [--passes 1] [--profile pairs]

Needs no extra; half a minute. Without --config the examples are made up, with lengths as in an encyclopedia: sentences
of 24 tokens on average, documents that fill 288; with it they are those of a system, beside the file that the examples
stage wrote.

tokens/s  real ones, of what training reads for one device, by this process's CPU time, hence of one core, however busy
          the others are: from the row groups of a Parquet file to the tensors of a batch. The first step, which opens
          the files, is left out. --batch are the rows of an optimizer step on one device; each of --ranks devices
          reads the rows of all and takes its part, --passes is the number of forward passes.
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
from contexture.encoders.transformer import Transformer
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
    args = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        if args.config is None:
            folder, lengths = Path(temporary), LENGTHS
            write_examples(folder, args.batch * args.ranks * (args.steps + 1))
            kinds: dict[str, Any] = {name: kind() for name, kind in STREAMS.items()}
            streams = {name: kind for name, kind in kinds.items() if (folder / kind.examples).exists()}
        else:
            config = read_config(args.config)
            folder, lengths, streams = args.config.parent, config.lengths, config.streams
        encoder = build_encoder(transformer("tiny"), lengths, vocabulary())
        steps = Batching(args.batch * args.ranks, args.passes, 0, args.ranks, args.tokens_at_once)
        print(f"a step of {args.batch} rows a device, {args.ranks} devices, {args.passes} passes")
        heads = [f"{gpu}, {size}" for gpu in _GPUS for size in _SHOWN]
        print(f"{'stream':12s} {'tokens/row':>10s} {'tokens/s':>11s}  " + "  ".join(f"{head:>20s}" for head in heads))
        for name, settings in streams.items():
            examples_dir = folder / settings.examples
            stream: Stream = resolve(settings.implementation)(settings, examples_dir, encoder, 0, steps)
            measure(name, stream, args.steps, args.profile == name)


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
    all_lengths = torch.cat(lengths).double()
    speed = float(all_lengths.sum()) / (time.process_time() - began)
    cells = []
    for gpu in _GPUS:
        for size in _SHOWN:
            eaten = PEAKS[gpu] * _UTILISATION * float(all_lengths.sum()) / flops(size, all_lengths)
            cells.append(f"{eaten / 1e6:10.2f}M ({eaten / speed:5.1f})")
    print(f"{name:12s} {all_lengths.mean():10.1f} {speed / 1e6:10.2f}M  " + "  ".join(f"{cell:>20s}" for cell in cells))
    if profiled:
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)


def flops(size: str, lengths: Tensor) -> float:
    """Forward and backward FLOPs of the layers for rows of `lengths` (B,) real tokens."""
    with torch.device("meta"):  # nothing is allocated
        encoder = build_encoder(transformer(size), LENGTHS, vocabulary())
    network = encoder.document
    assert isinstance(network, Transformer)
    return float(network.layer_flops(lengths))


if __name__ == "__main__":
    main()
