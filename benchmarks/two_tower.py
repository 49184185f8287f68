"""Speed of the two towers compared with sentence-transformers.

    python benchmarks/two_tower.py [--parts training encoding] [--layers 4] [--width 256] [--batch 64]

Needs the extras `workbench` and `dev`; a few minutes on two cores. The texts are made up, drawn from a seed, and as
long as those that ICT, BFS and WLP give: queries of 28 tokens on average and 64 at most, documents of 145 and 288.
All words are in the vocabulary, so tokenizing, which the peer does while it trains, is as quick as it gets.

Both sides have the same weights, batches, precision, clipping and AdamW, and take turns; the tables have medians of
the rounds after the first. The benchmark ends with an error unless the losses of the first batch, in fp32, agree to
1e-4 and all vectors to a cosine of 0.9999.

training    one optimizer step, from rows on disk (ours) or texts in memory (MultipleNegativesRankingLoss in a plain
            loop around the collator of its trainer) to changed weights
encoding    candidates, from text to vectors: `Encoder.embed`, and
            `SentenceTransformer.encode` with its default batch of 32, and with 64 and 128
"""

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from made_up import Texts
from tokenizers import Tokenizer
from torch import Tensor, nn

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import Lengths as Limits
from contexture.encoders.config import TransformerConfig
from contexture.encoders.files import load_encoder, save_encoder
from contexture.objectives.in_batch_negatives import InBatchNegatives
from contexture.objectives.settings import InBatchNegativesConfig
from contexture.streams.base import Batching
from contexture.streams.pairs.batches import Pairs
from contexture.streams.pairs.config import PairsConfig
from contexture.vocabulary.tokenizers import load_tokenizer
from contexture.vocabulary.vocabulary import Vocabulary

LIMITS = Limits(query=64, document=288)
_CLIP = 1.0

#: Number of a step → its loss.
LossOf = Callable[[int], Tensor]


def write_pairs(texts: Texts, tokenizer: Path, folder: Path, count: int) -> None:
    """A table of pairs of one task as the examples stage writes them; each document occurs once."""
    known = load_tokenizer(tokenizer)[0]
    drawn = {"query": texts.queries(count), "title": texts.titles(count), "passage": texts.passages(count)}
    table = {
        name: [encoding.ids for encoding in known.encode_batch_fast(column, add_special_tokens=False)]
        for name, column in drawn.items()
    }
    rows = pd.DataFrame(table | {"document": [str(row) for row in range(count)], "document_pairs": 1})
    schema = pa.schema(
        [(name, pa.list_(pa.int32())) for name in drawn] + [("document", pa.string()), ("document_pairs", pa.int64())]
    )
    (folder / "ict").mkdir(parents=True)
    pq.write_table(pa.Table.from_pandas(rows, schema, preserve_index=False), folder / "ict" / "0.parquet")


def make_encoder(layers: int, width: int, embedding: int, pooling: Literal["cls", "mean"], tokenizer: Path) -> Encoder:
    """A new encoder of these sizes, without dropout, which each side would draw for itself."""
    torch.manual_seed(0)
    config = TransformerConfig(
        hidden_size=width,
        layers=layers,
        heads=max(1, width // 64),
        intermediate_size=4 * width,
        dropout=0.0,
        embedding_size=embedding,
        pooling=pooling,
    )
    return build_encoder(config, LIMITS, Vocabulary.load(tokenizer))


def load_batches(args: argparse.Namespace, encoder: Encoder, folder: Path) -> Pairs:
    """Batches as training has them."""
    steps = Batching(args.batch, tokens_at_once=args.tokens_at_once)
    return Pairs(PairsConfig(tasks=["ict"]), folder / "pairs", encoder, 0, steps)


def our_loss(encoder: Encoder, batches: Pairs) -> LossOf:
    """The losses of our steps."""
    objective = InBatchNegatives(InBatchNegativesConfig(), encoder)

    def loss(number: int) -> Tensor:
        batch = batches.batch(number, 0)
        value: Tensor = objective(encoder, batches.encode(encoder, batch), batch).value
        return value

    return loss


def peers_loss(peer: Any, texts: list[list[dict[str, str]]]) -> LossOf:
    """The losses of the peer's steps."""
    from sentence_transformers import util
    from sentence_transformers.base.data_collator import BaseDataCollator
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    objective = MultipleNegativesRankingLoss(peer, scale=1.0, similarity_fct=util.dot_score)
    collate = BaseDataCollator(peer.preprocess)

    def loss(number: int) -> Tensor:
        collated = collate(texts[number])
        value: Tensor = objective([_column(collated, name) for name in ("query", "document")], None)
        return value

    return loss


def stepping(model: nn.Module, loss_of: LossOf, precision: str) -> Callable[[int], float]:
    """Optimizer steps, under what Lightning and the peer's trainer compute under."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)

    def step(number: int) -> float:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(number)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        optimizer.step()
        return loss.item()

    return step


def _column(collated: dict[str, Any], name: str) -> dict[str, Any]:
    """The features of one column, as the peer's trainer takes them from what its collator gives."""
    return {key.removeprefix(f"{name}_"): value for key, value in collated.items() if key.startswith(f"{name}_")}


def step_texts(batches: Pairs, tokenizer: Tokenizer, number: int) -> list[dict[str, str]]:
    """The texts of a step's pairs, in the order of the step."""
    table = batches.rows.take(number * batches.batching.batch_size, batches.batching.batch_size).to_pylist()
    spelt = {name: tokenizer.decode_batch([row[name] for row in table]) for name in ("query", "title", "passage")}
    documents = joined(spelt["title"], spelt["passage"])
    return [{"query": query, "document": text} for query, text in zip(spelt["query"], documents, strict=True)]


def joined(first: list[str], second: list[str]) -> list[str]:
    """Texts of two parts as sentence-transformers is given them."""
    return [f"{a} [SEP] {b}" for a, b in zip(first, second, strict=True)]


def in_turns(works: dict[str, Callable[[int], Any]], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds of calls that take turns, and what they gave in the first round, which warms up."""
    times: dict[str, list[float]] = {name: [] for name in works}
    first: dict[str, Any] = {}
    for number in range(rounds + 1):
        for name, work in works.items():
            began = time.perf_counter()
            result = work(number)
            times[name].append(time.perf_counter() - began)
            first.setdefault(name, result)
    return {name: statistics.median(durations[1:]) for name, durations in times.items()}, first


def training(args: argparse.Namespace, folder: Path) -> None:
    """The table of training."""
    print("| training | ours, steps/s | MultipleNegativesRankingLoss, steps/s | ratio |\n| --- | ---: | ---: | ---: |")
    write_pairs(Texts(args.vocabulary), folder / "tokenizer", folder / "pairs", args.batch * (args.rounds + 1))
    known = load_tokenizer(folder / "tokenizer")[0]
    for precision in args.precisions:
        encoder, peer = both(folder)
        batches = load_batches(args, encoder.train(), folder)
        texts = [step_texts(batches, known, number) for number in range(args.rounds + 1)]
        losses = {"ours": our_loss(encoder, batches), "peer": peers_loss(peer.train(), texts)}
        with torch.no_grad():
            ours, theirs = (loss(0).item() for loss in losses.values())
        if not math.isclose(ours, theirs, rel_tol=1e-4):
            raise SystemExit(f"the losses of the first batch differ: {ours} and {theirs}")
        models = {"ours": encoder, "peer": peer}
        took, _ = in_turns({name: stepping(models[name], losses[name], precision) for name in losses}, args.rounds)
        ratio = took["peer"] / took["ours"]
        print(f"| {precision} | {1 / took['ours']:.2f} | {1 / took['peer']:.2f} | {ratio:.2f} |", flush=True)


def encoding(args: argparse.Namespace, folder: Path) -> None:
    """The table of encoding."""
    texts = Texts(args.vocabulary, seed=1)
    sentences, passages = texts.queries(args.candidates), texts.passages(args.candidates)
    encoder, peer = both(folder)
    candidates, whole = list(zip(sentences, passages, strict=True)), joined(sentences, passages)

    def ours(_: int) -> Any:
        return encoder.embed(candidates, "document")

    def peers(size: int) -> Callable[[int], Any]:
        return lambda _: peer.encode(whole, batch_size=size)

    works = {"contexture": ours} | {f"encode, batch_size={size}": peers(size) for size in (32, 64, 128)}
    took, vectors = in_turns(works, args.rounds)
    units = {name: made / np.linalg.norm(made, axis=1, keepdims=True) for name, made in vectors.items()}
    print("| encoding | texts/s | ours is so many times as fast |\n| --- | ---: | ---: |")
    for name, seconds in took.items():
        cosine = (units[name] * units["contexture"]).sum(axis=1).min()
        if cosine < 0.9999:
            raise SystemExit(f"{name}: the vectors differ, cosine {cosine}")
        print(f"| {name} | {len(whole) / seconds:.0f} | {seconds / took['contexture']:.2f} |", flush=True)


def both(folder: Path) -> tuple[Encoder, Any]:
    """The same weights as ours and as the peer has them."""
    from sentence_transformers import SentenceTransformer

    return load_encoder(folder / "encoder"), SentenceTransformer(str(folder / "encoder"), device="cpu")


PARTS = {"training": training, "encoding": encoding}


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--embedding", type=int, default=256)
    parser.add_argument("--pooling", choices=["cls", "mean"], default="cls")
    parser.add_argument("--vocabulary", type=int, default=30_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--tokens-at-once", type=int, default=4096, help="two_tower.pretrain.tokens_at_once")
    parser.add_argument("--candidates", type=int, default=2000, help="texts to encode")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Texts(args.vocabulary).tokenizer(folder / "tokenizer")
        encoder = make_encoder(args.layers, args.width, args.embedding, args.pooling, folder / "tokenizer")
        save_encoder(encoder, folder / "encoder")
        for part in args.parts:
            PARTS[part](args, folder)
            print(flush=True)


if __name__ == "__main__":
    main()
