"""Does training in several processes equal training in one, and how fast is it?

    python benchmarks/processes.py [--processes 1 2 4] [--size tiny] [--batch 64] [--steps 20] [--epsilon 1e-3]

Pre-trains a two-tower Transformer without dropout, on the same made-up examples and with the same global batch, in
each number of processes of `torch.distributed.run` on the CPUs of this machine (gloo), with one thread each. The table
has tokens per second without padding, the same per process, and the largest difference of the loss curve from that of
the first number of processes. The benchmark fails if a difference is larger than 1e-5. The first quarter of the steps
warms up and is left out of the speed. With fewer cores than processes, processes share cores.

With Adam's usual epsilon, 1e-8, gradients that are zero up to rounding make full steps, so that rounding grows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from gpu import configure_system
from made_up import SIZES, WORDS, Texts, write_examples
from programs import print_table

from contexture.systems.launch import pretrain_arguments
from contexture.training.curves import read_curves
from contexture.training.recorder import TOTAL_COLUMNS

TOLERANCE = 1e-5


def train(folder: Path, processes: int, args: argparse.Namespace) -> pd.DataFrame:
    """Pre-train in so many processes and return the curves."""
    config = configure_system("two_tower", args.size, args.batch, args.steps, 0, "fp32", dropout=0.0)
    values = config.to_dict()
    values["pretrain"] |= {"devices": processes, "log_every": 1}
    values["pretrain"]["optimizer"]["epsilon"] = args.epsilon
    file, output_dir = folder / f"{processes}.json", folder / str(processes)
    file.write_text(json.dumps(values), encoding="utf-8")
    arguments = pretrain_arguments(file, "run", 0, folder / "examples", folder / "tokenizer", None)
    command = [sys.executable, "-m", "contexture", *arguments, "--output", str(output_dir)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return read_curves(output_dir)


def measure_speed(curves: pd.DataFrame) -> float:
    """Return tokens per second of all processes, after the first quarter of the steps."""
    totals = curves[list(TOTAL_COLUMNS.values())]
    tokens, _, seconds = totals.iloc[-1] - totals.iloc[len(totals) // 4]
    return float(tokens / seconds)


def check_losses(losses: Sequence[pd.Series]) -> None:
    """Raise SystemExit if a loss curve differs from the first one by more than `TOLERANCE`."""
    if any((loss - losses[0]).abs().max() > TOLERANCE for loss in losses):
        raise SystemExit(f"the loss curves differ by more than {TOLERANCE}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--batch", type=int, default=64, help="rows of a step, of all processes (%(default)d)")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--epsilon", type=float, default=1e-3, help="of Adam (%(default)g)")
    args = parser.parse_args(arguments)
    if args.steps < 4:
        parser.error("--steps: give at least 4, because the first quarter is left out")
    rows, losses = [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_examples(folder / "examples", 4 * args.batch)
        Texts(WORDS).tokenizer(folder / "tokenizer")
        for processes in args.processes:
            curves = train(folder, processes, args)
            losses.append(curves["train/loss"])
            speed, difference = measure_speed(curves), (losses[-1] - losses[0]).abs().max()
            rows.append([str(processes), f"{speed:,.0f}", f"{speed / processes:,.0f}", f"{difference:.1e}"])
    print(f"{os.cpu_count()} cores, {args.size}, {args.batch} rows per step, {args.steps} steps")
    print_table(["processes", "tokens/s", "tokens/s per process", "difference of the loss"], rows)
    check_losses(losses)


if __name__ == "__main__":
    main()
