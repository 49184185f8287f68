"""How long does a training take on one core and on two, alone and beside another one, and are its weights the same?

    PYTHONPATH=src:. python benchmarks/threads.py [--text FILE …] [--sizes 4x256] [--steps 20] [--rounds 5]
        [--precisions fp32 bf16]

Masked language models are trained as in `hf_trainer.py`, whose options of the same names have the same meaning. The
table has medians of the rounds, in which all take turns, each in a new process:

alone       a single training
two         two trainings at the same time; seconds until both have ended
one core    a single training that may use one core only

`ratio` is the time of a training compared with one thread alone: half of the seconds of two trainings. The best that
two cores can do is the ratio of two trainings with one thread each; it is above 0.5 where cores share memory or clock.
The last column names the weights: equal letters are equal bits. Linux only.
"""

import argparse
import hashlib
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from string import ascii_lowercase
from threading import Barrier

import torch
from hf_trainer import SIZES, Job, train_contexture, write_inputs
from programs import print_table

from contexture.training.fleet import ALONE_WAITING, PARALLEL_WAITING

#: Name → trainings at the same time, threads of each, and cores.
WAYS = {
    "alone, 1 thread": (1, 1, 2),
    "alone, 2 threads": (1, 2, 2),
    "two, 1 thread each": (2, 1, 2),
    "two, 2 threads each": (2, 2, 2),
    "one core, 2 threads": (1, 2, 1),
}
FIRST = next(iter(WAYS))
#: What lets the trainings of a process begin at the same time.
_BARRIER: list[Barrier] = []


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", nargs="*", type=Path, default=[])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["4x256"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    args = parser.parse_args(arguments)
    inputs = {"text": args.text, "steps": args.steps, "vocabulary": 4000, "tokens": 128, "batch": 64, "dropout": 0.1}
    with tempfile.TemporaryDirectory() as temporary:
        for size in args.sizes:
            folder = Path(temporary) / size
            write_inputs(folder, size, argparse.Namespace(**inputs))
            for precision in args.precisions:
                job = Job("contexture", folder, argparse.Namespace(**inputs, precision=precision))
                compare(f"{size}, {precision}", job, args.rounds)


def compare(title: str, job: Job, rounds: int) -> None:
    """Print the table of a size and precision."""
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    weights: dict[str, set[str]] = {way: set() for way in WAYS}
    for _ in range(rounds):
        for way, (trainings, threads, cores) in WAYS.items():
            elapsed, hashes = train_at_once(job, trainings, threads, cores)
            seconds[way].append(elapsed)
            weights[way].update(hashes)
    names = dict(
        zip(dict.fromkeys(weight for way in WAYS for weight in sorted(weights[way])), ascii_lowercase, strict=False)
    )
    single = statistics.median(seconds[FIRST])
    print_table(
        [title, "seconds", "ratio", "weights"],
        [
            [way, f"{statistics.median(values):.2f}", f"{statistics.median(values) / WAYS[way][0] / single:.2f}",
             " ".join(sorted(names[weight] for weight in weights[way]))]
            for way, values in seconds.items()
        ],
    )  # fmt: skip


def train_at_once(job: Job, trainings: int, threads: int, cores: int) -> tuple[float, list[str]]:
    """Train in so many new processes; return the seconds until all have ended, without their start, and the weights."""
    os.environ |= ALONE_WAITING if trainings == 1 else PARALLEL_WAITING
    context = get_context("spawn")
    barrier = context.Barrier(trainings)
    with ExitStack() as stack:
        pools = [
            stack.enter_context(ProcessPoolExecutor(1, context, start, (barrier, threads, cores)))
            for _ in range(trainings)
        ]
        results = [future.result() for future in [pool.submit(train, job) for pool in pools]]
    return max(end for _, end, _ in results) - min(begin for begin, _, _ in results), [name for *_, name in results]


def start(barrier: Barrier, threads: int, cores: int) -> None:
    """Prepare a process."""
    _BARRIER.append(barrier)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    torch.set_num_threads(threads)


def train(job: Job) -> tuple[float, float, str]:
    """Train; return begin, end and the hash of the weights."""
    _BARRIER[-1].wait()
    with tempfile.TemporaryDirectory() as output:
        begin = time.monotonic()
        train_contexture(job, Path(output))
        end = time.monotonic()
        files = sorted(Path(output).glob("*.safetensors"))
        return begin, end, hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


if __name__ == "__main__":
    main()
