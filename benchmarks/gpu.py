"""Speed and memory of training and embedding on a GPU.

    python benchmarks/gpu.py [--systems mspp two_tower quick_thoughts] [--sizes base small] [--precisions bf16 fp32]
        [--steps 40] [--workers 4] [--passages 20000] [--batch 128] [--peak 989] [--device cuda]

Takes some minutes on a GPU and needs only the library (`pip install contexture`). `--device cpu --sizes tiny` runs the
same code on a CPU. Text and examples are made up, with lengths as in an encyclopedia.

Pre-training, by system, size and precision. All else is as in `contexture train`: loader, objectives, clipping, AdamW,
curves. The first quarter of the steps warms up and is left out.

mspp            joint inputs of six sentences, MLM and MSPP on the same input
two_tower       pairs of a query and a document of 288 tokens, one network, in-batch negatives
quick_thoughts  contiguous sentences, two networks

tokens/s        tokens that the network reads, without padding
TFLOP/s, peak   their forward and backward passes, 6 FLOPs per token and parameter of layers and logits, and attention;
                and the share of the GPU's dense bf16 peak, known for H100, H200 and A100 (others: --peak, in TFLOP/s)
with padding    the same, if padding is counted
GB              the largest memory that PyTorch allocated; on a CPU, that of the process so far

Embedding, by size: passages of 139 words and their titles, from text to vectors in memory, by `Encoder.embed`, which
computes in fp32.
"""

import argparse
import itertools
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from made_up import LENGTHS, PEAKS, SIZES, WORDS, Texts, transformer, vocabulary, write_examples
from programs import print_table
from pydantic import TypeAdapter
from torch import Tensor

from contexture.encoders.base import Encoder, build_encoder, prepare_for_inference, tokenize_texts
from contexture.imports import resolve
from contexture.streams.base import combine_needs
from contexture.systems.config import SystemConfig
from contexture.training.curves import read_curves
from contexture.training.prepare import PreparedRun, RunFiles, open_stages
from contexture.training.pretrain import train
from contexture.training.recorder import TOTAL_COLUMNS
from contexture.vocabulary.vocabulary import Vocabulary

#: System → its stream, weights of objectives, settings of the encoder, length of a document, and rows of a step.
SYSTEMS: dict[str, tuple[str, dict[str, float], dict[str, Any], int, int]] = {
    "mspp": ("joint", {"mlm": 1, "mspp": 1}, {}, LENGTHS.document, 128),
    "two_tower": ("pairs", {"in_batch_negatives": 1}, {"embedding_size": 512}, LENGTHS.document, 256),
    "quick_thoughts": ("contiguous", {"quick_thoughts": 1}, {"shared": False, "plain": "both"}, LENGTHS.query, 800),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["base", "small"])
    parser.add_argument("--precisions", nargs="+", choices=["bf16", "fp32"], default=["bf16", "fp32"])
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4, help="processes that prepare batches (%(default)d)")
    parser.add_argument("--passages", type=int, default=20_000, help="passages to embed (%(default)d)")
    parser.add_argument("--batch", type=int, help="rows of a step, instead of each system's own")
    parser.add_argument("--peak", type=float, help="peak of the device in TFLOP/s")
    args = parser.parse_args(arguments)
    if (args.device == "cuda") != torch.cuda.is_available():
        raise SystemExit(
            "--device cpu: training would use the GPU of this machine; set CUDA_VISIBLE_DEVICES= to hide it"
            if torch.cuda.is_available()
            else "--device cuda: there is no CUDA device; --device cpu --sizes tiny runs the same code without one"
        )
    name = torch.cuda.get_device_name() if args.device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"Device: {name}. PyTorch {torch.__version__}.")
    heads = ["system", "size", "precision", "rows", "tokens/s", "TFLOP/s", "peak"]
    heads += ["tokens/s with padding", "peak with padding", "GB"]
    print_table(heads, list_trainings(args, name))
    print_table(["size", "passages/s", "tokens/s", "GB"], list_embeddings(args))


def list_trainings(args: argparse.Namespace, device: str) -> Iterator[list[str]]:
    """Yield a row of the table for each pre-training."""
    known_peak = next((peak for gpu, peak in PEAKS.items() if gpu in device), None)
    for system, size, precision in itertools.product(args.systems, args.sizes, args.precisions):
        rows = args.batch or SYSTEMS[system][-1]
        with tempfile.TemporaryDirectory() as temporary:
            tokens, computed, flops, memory = measure_training(
                system, size, rows, args.steps, args.workers, precision, Path(temporary)
            )
        peak = args.peak * 1e12 if args.peak else known_peak if precision == "bf16" else None
        shares = [f"{flops * more / peak:.1%}" if peak else "–" for more in (1, computed / tokens)]
        speed = [f"{tokens:,.0f}", f"{flops / 1e12:.2f}", shares[0], f"{computed:,.0f}", shares[1]]
        yield [system, size, precision, str(rows), *speed, f"{memory / 1e9:.1f}"]


def list_embeddings(args: argparse.Namespace) -> Iterator[list[str]]:
    """Yield a row of the table for each size of encoder."""
    for size in args.sizes:
        with tempfile.TemporaryDirectory() as temporary:
            passages, tokens, memory = measure_embedding(size, args.passages, Path(temporary) / "tokenizer")
        yield [size, f"{passages:,.0f}", f"{tokens:,.0f}", f"{memory / 1e9:.1f}"]


def measure_training(
    system: str, size: str, rows: int, steps: int, workers: int, precision: str, folder: Path
) -> tuple[float, float, float, float]:
    """Return tokens without and with padding and FLOPs per second, and bytes of memory."""
    examples = folder / "examples"
    write_examples(examples, 4 * rows)
    config = configure_system(system, size, rows, steps, workers, precision).pretraining("run")
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
    reset_memory()
    train(config, 0, PreparedRun(encoder, objectives, stages, passes), folder, 0)
    curves = read_curves(folder).dropna(subset=list(TOTAL_COLUMNS.values()))
    first, last = curves.iloc[0], curves.iloc[-1]
    tokens, flops, seconds = (
        last[TOTAL_COLUMNS[name]] - first[TOTAL_COLUMNS[name]] for name in ("tokens", "flops", "seconds")
    )
    padded = sum(computed) / last[TOTAL_COLUMNS["tokens"]]
    return tokens / seconds, padded * tokens / seconds, flops / seconds, read_memory()


def measure_embedding(size: str, count: int, tokenizer: Path) -> tuple[float, float, float]:
    """Return passages and tokens per second, and bytes of memory, of embedding so many passages."""
    texts = Texts(WORDS)
    texts.tokenizer(tokenizer)
    words = Vocabulary.load(tokenizer)
    encoder = prepare_for_inference(build_encoder(transformer(size, embedding_size=512), LENGTHS, words))
    passages = list(zip(texts.titles(count), texts.passages(count), strict=True))
    tokens = int(tokenize_texts(passages, words).lengths.sum())
    encoder.embed(passages[: count // 4], "document")  # warms up
    reset_memory()
    start = time.perf_counter()
    encoder.embed(passages, "document")
    seconds = time.perf_counter() - start
    return count / seconds, tokens / seconds, read_memory()


def reset_memory() -> None:
    """Forget the largest memory so far, on a GPU."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def read_memory() -> float:
    """Return the largest memory in bytes, see the docstring of this file."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def configure_system(
    system: str, size: str, rows: int, steps: int, workers: int, precision: str, **encoder: Any
) -> SystemConfig:
    """Return a system with one run, "run"; `encoder` are further settings of its Transformer."""
    stream, weights, settings, document, _ = SYSTEMS[system]
    values = {
        "seeds": 1,
        "lengths": {"query": LENGTHS.query, "document": document},
        "encoders": {"transformer": asdict(transformer(size, initialization="bert", **settings, **encoder))},
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
    return checked


def count_tokens(encoder: Encoder) -> list[int]:
    """Return a list to which each pass through the layers adds its number of tokens, with padding.

    Tokens that two networks read count once, as in the curves.
    """
    computed: list[int] = []

    def count(_: Any, __: Any, states: Tensor) -> None:
        computed.append(states.shape[0] * states.shape[1])

    encoder.document.base.embeddings.register_forward_hook(count)
    return computed


if __name__ == "__main__":
    main()
