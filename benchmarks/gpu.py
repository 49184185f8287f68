"""What training makes of a GPU: tokens a second, share of the peak, memory.

    python benchmarks/gpu.py [--systems mspp two_tower quick_thoughts] [--sizes base small] [--steps 40] [--workers 4]
        [--device cuda] [--precision bf16] [--batch 128] [--peak 989]

Needs no extra; a minute or two on a GPU. `--device cpu --sizes tiny` tries the script where there is none. Examples are
made up, with lengths as in an encyclopedia; everything else is as in training (`training.pretrain.train`): loader,
objectives, clipping, AdamW, curves. The first quarter of the steps warms up and is left out.

mspp            joint inputs of six sentences, MLM and MSPP on the same input
two_tower       pairs of a query and a document of 288 tokens, one network, in-batch negatives
quick_thoughts  contiguous sentences, two networks

real      tokens that are no padding, and the share of the peak (--peak, in TFLOP/s; that of dense bf16 is known of
          H100, H200 and A100) that their forward and backward passes are: 6 FLOPs a parameter of layers and logits and
          token, and attention
computed  the same with padding
memory    the most that was allocated; on a CPU, of the process
"""

import argparse
import resource
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from made_up import LENGTHS, PEAKS, SIZES, transformer, vocabulary, write_examples
from pydantic import TypeAdapter

from contexture.encoders.base import Encoder, build_encoder
from contexture.imports import resolve
from contexture.streams.base import combine_needs
from contexture.systems.config import SystemConfig
from contexture.training.config import Pretraining
from contexture.training.curves import read_curves
from contexture.training.prepare import PreparedRun, RunFiles, open_stages
from contexture.training.pretrain import train
from contexture.training.recorder import TOTAL_COLUMNS

#: Of each system: its stream, its objectives, its encoder, the length of a document, and rows of a step.
SYSTEMS: dict[str, tuple[str, dict[str, float], dict[str, Any], int, int]] = {
    "mspp": ("joint", {"mlm": 1, "mspp": 1}, {}, LENGTHS.document, 128),
    "two_tower": ("pairs", {"in_batch_negatives": 1}, {"embedding_size": 512}, LENGTHS.document, 256),
    "quick_thoughts": ("contiguous", {"quick_thoughts": 1}, {"shared": False, "plain": "both"}, LENGTHS.query, 800),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["base", "small"])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--precision", choices=["bf16", "fp32"], default="bf16")
    parser.add_argument("--batch", type=int, help="rows of a step, in place of each system's own")
    parser.add_argument("--peak", type=float, help="TFLOP/s of the device")
    args = parser.parse_args(arguments)
    if (args.device == "cuda") != torch.cuda.is_available():
        raise SystemExit(
            "a GPU is there, and training would use it: leave --device out, or set CUDA_VISIBLE_DEVICES="
            if torch.cuda.is_available()
            else "there is no CUDA device: --device cpu --sizes tiny tries the script without one"
        )
    name = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    peak = args.peak * 1e12 if args.peak else next((peak for gpu, peak in PEAKS.items() if gpu in name), None)
    print(f"{name}, {args.precision}, peak {f'{peak / 1e12:.0f} TFLOP/s' if peak else 'unknown'}")
    print(f"{'':14s} {'':5s} {'rows':>5s} {'real tokens/s':>14s} {'computed':>10s} {'TFLOP/s':>8s} "
          f"{'of peak':>8s} {'computed':>8s} {'GB':>6s}")  # fmt: skip
    for system in args.systems:
        for size in args.sizes:
            rows = args.batch or SYSTEMS[system][-1]
            with tempfile.TemporaryDirectory() as temporary:
                row = measure(system, size, rows, args.steps, args.workers, args.precision, Path(temporary))
            tokens, computed, flops, memory = row
            shares = [f"{flops * more / peak:8.1%}" if peak else f"{'-':>8s}" for more in (1, computed / tokens)]
            print(f"{system:14s} {size:5s} {rows:5d} {tokens:14,.0f} {computed:10,.0f} {flops / 1e12:8.2f} "
                  f"{shares[0]} {shares[1]} {memory / 1e9:6.1f}")  # fmt: skip


def measure(
    system: str, size: str, rows: int, steps: int, workers: int, precision: str, folder: Path
) -> tuple[float, float, float, float]:
    """Real tokens, computed tokens and FLOPs a second, and bytes of memory."""
    examples = folder / "examples"
    write_examples(examples, 4 * rows)
    config = configured(system, size, rows, steps, workers, precision)
    encoder = build_encoder(
        config.encoder, config.lengths, vocabulary(), combine_needs(config.streams, config.lengths), system == "mspp"
    )
    files = RunFiles({kind.name: kind for kind in examples.iterdir()}, folder)
    stages, passes = open_stages(config, 0, files, encoder, 0)
    objectives = {
        name: resolve(config.recipe.objective(name).implementation)(config.recipe.objective(name), encoder)
        for name in config.recipe.objective_names
    }
    computed = count_tokens(encoder)
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    train(config, 0, PreparedRun(encoder, objectives, stages, passes), folder, 0)
    curves = read_curves(folder).dropna(subset=list(TOTAL_COLUMNS.values()))
    first, last = curves.iloc[0], curves.iloc[-1]
    tokens, flops, seconds = (
        last[TOTAL_COLUMNS[name]] - first[TOTAL_COLUMNS[name]] for name in ("tokens", "flops", "seconds")
    )
    padded = sum(computed) / last[TOTAL_COLUMNS["tokens"]]
    memory = (
        torch.cuda.max_memory_allocated()
        if torch.cuda.is_available()
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    return tokens / seconds, padded * tokens / seconds, flops / seconds, memory


def configured(system: str, size: str, rows: int, steps: int, workers: int, precision: str) -> Pretraining:
    """A run of a system, checked."""
    stream, weights, encoder, document, _ = SYSTEMS[system]
    values = {
        "seeds": 1,
        "lengths": {"query": LENGTHS.query, "document": document},
        "encoders": {"transformer": asdict(transformer(size, initialization="bert", **encoder))},
        "streams": {stream: {}},
        "pretrain": {
            "runs": {"run": {"schedule": [{"steps": steps, "weights": weights}]}},
            "batch_size": rows,
            "optimizer": {"learning_rate": 1e-4},
            "precision": precision,
            "log_every": max(1, steps // 4),
            "tokens_at_once": 65536,
            "loader_workers": workers,
        },
    }
    checked: SystemConfig = TypeAdapter(SystemConfig).validate_python(values)
    return checked.pretraining("run")


def count_tokens(encoder: Encoder) -> list[int]:
    """A list to which every pass through the layers adds the tokens that it computes, padding included.

    Where two networks read the same tokens, they count once, as in the curves.
    """
    computed: list[int] = []

    def count(_: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        states = arguments[0] if arguments else named["hidden_states"]
        computed.append(states.shape[0] * states.shape[1])

    encoder.document.base.encoder.layer[0].register_forward_pre_hook(count, with_kwargs=True)
    return computed


if __name__ == "__main__":
    main()
