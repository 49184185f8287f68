"""Speed of a step of bitext retrieval compared with sentence-transformers, on the same weights and pairs.

    python benchmarks/bitext.py [--layers 4] [--width 256] [--batch 64] [--rounds 5] [--precisions fp32 bf16]
    python benchmarks/bitext.py --english train.en.gz --german train.de.gz
    python benchmarks/bitext.py --search 100000 --width 256

Needs the extra `workbench`; a few minutes on two cores. A step goes from rows on disk (ours) or texts in memory
(MultipleNegativesRankingLoss, both ways, in a plain loop around the collator of its trainer) to changed weights. Both
sides have the same weights, pairs, precision, clipping and AdamW, and take turns; the table has medians of the rounds
after the first. Without files, sentences are made up, each with 3 to 62 words and a translation of about as many.

With --search so many vectors are looked for among as many others, as the task `bitext_retrieval` does; the floor is the
product of the two matrices. Every vector's neighbour is known, and it ends with an error if one is not found.

It ends with an error unless the losses of the first batch, in fp32 and without a margin, which the peer does not have,
agree to 1e-4.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor
from two_tower import Texts, in_turns, make_encoder, stepping

from contexture.corpus.bitext.config import BitextSet
from contexture.corpus.bitext.files import read_pairs
from contexture.encoders.base import Encoder
from contexture.encoders.files import load_encoder, save_encoder
from contexture.objectives.bitext import additive_margin
from contexture.retrieval.search_index import find_nearest
from contexture.streams.base import Batching
from contexture.streams.bitext.batches import SIDES, Bitext
from contexture.streams.bitext.config import BitextStreamConfig
from contexture.vocabulary.tokenizers import VocabularyConfig, load_tokenizer, train_tokenizer

_SCALE = 20.0


def make_pairs(args: argparse.Namespace, folder: Path, count: int) -> list[tuple[str, str]]:
    """Sentences and their translations, and a tokenizer that knows them."""
    if args.english is None:
        texts = Texts(args.vocabulary)
        texts.tokenizer(folder / "tokenizer")
        sources = texts.queries(count)
        lengths = np.array([len(source.split()) for source in sources])
        longer = np.rint(lengths * texts.rng.normal(1.0, 0.15, count)).astype(np.int64).clip(3, 62)
        return list(zip(sources, texts.draw(longer), strict=True))
    read = read_pairs(BitextSet([args.english, args.german], ("en", "de")))
    real = [(source, target) for source, target in read if source and target]
    train_tokenizer([" ".join(pair) for pair in real], VocabularyConfig(size=args.vocabulary), folder / "tokenizer")
    order = np.random.default_rng(0).permutation(len(real))[:count]
    return [real[row] for row in order]


def write_rows(pairs: list[tuple[str, str]], folder: Path) -> None:
    """The table of pairs, as the examples stage writes it; no sentence is there twice."""
    tokenizer = load_tokenizer(folder / "tokenizer")[0]
    columns: dict[str, Any] = {}
    for number, side in enumerate(SIDES):
        encodings = tokenizer.encode_batch_fast([pair[number] for pair in pairs], add_special_tokens=False)
        columns[side] = pa.array([encoding.ids for encoding in encodings], pa.list_(pa.int32()))
        columns[f"{side}_id"] = pa.array(range(number * len(pairs), (number + 1) * len(pairs)), pa.int64())
    columns["row"] = pa.array(range(len(pairs)), pa.int64())
    (folder / "bitext").mkdir()
    pq.write_table(pa.table(columns), folder / "bitext" / "0.parquet")


def our_loss(encoder: Encoder, batches: Bitext, margin: float) -> Callable[[int], Tensor]:
    """The losses of our steps."""

    def loss(number: int) -> Tensor:
        batch = batches.batch(number, 0)
        vectors = batches.encode(encoder, batch)
        return additive_margin(vectors["source"], vectors["target"], batch["ids"], margin, _SCALE).value

    return loss


def peers_loss(peer: Any, texts: list[list[dict[str, str]]]) -> Callable[[int], Tensor]:
    """The losses of the peer's steps: a sentence among all translations, and a translation among all sentences."""
    from sentence_transformers.base.data_collator import BaseDataCollator
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    objective = MultipleNegativesRankingLoss(
        peer, scale=_SCALE, directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction"
    )
    collate = BaseDataCollator(peer.preprocess)

    def loss(number: int) -> Tensor:
        collated = collate(texts[number])
        sides = [
            {key.removeprefix(f"{side}_"): value for key, value in collated.items() if key.startswith(f"{side}_")}
            for side in SIDES
        ]
        value: Tensor = objective(sides, None)
        return value

    return loss


def search(count: int, width: int) -> None:
    """Seconds of the exact search of `count` vectors among `count`, and of the matrix product."""
    draw = np.random.default_rng(0)
    candidates = draw.standard_normal((count, width), np.float32)
    queries = candidates + 0.1 * draw.standard_normal((count, width), np.float32)
    began = time.perf_counter()
    for start in range(0, count, 10_000):
        queries[start : start + 10_000] @ candidates.T
    product = time.perf_counter() - began
    began = time.perf_counter()
    _, rows = find_nearest(candidates, queries, 2)
    seconds = time.perf_counter() - began
    if not (rows[:, 0] == np.arange(count)).all():
        raise SystemExit("a vector's own neighbour was not found")
    print(f"{count:,} × {count:,} vectors of {width}: {seconds:.1f} s; the product alone {product:.1f} s")


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precisions", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=30_000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--tokens-at-once", type=int, default=4096)
    parser.add_argument("--english", help="one side of Moses files")
    parser.add_argument("--german", help="the other")
    parser.add_argument("--search", type=int, help="vectors on either side, in place of training")
    args = parser.parse_args(words)
    if args.search is not None:
        search(args.search, args.width)
        return
    from sentence_transformers import SentenceTransformer

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = args.batch * (args.rounds + 1)
        pairs = make_pairs(args, folder, count)
        write_rows(pairs, folder)
        save_encoder(
            make_encoder(args.layers, args.width, args.width, "mean", folder / "tokenizer"), folder / "encoder"
        )
        print(f"{args.layers} layers of {args.width}, {args.batch} pairs a step, {torch.get_num_threads()} threads")
        print("| precision | ours, pairs/s | MultipleNegativesRankingLoss, pairs/s | ratio |")
        print("| --- | ---: | ---: | ---: |")
        for precision in args.precisions:
            encoder = load_encoder(folder / "encoder").train()
            peer = SentenceTransformer(str(folder / "encoder"), device="cpu").train()
            steps = Batching(args.batch, tokens_at_once=args.tokens_at_once)
            batches = Bitext(BitextStreamConfig(), folder / "bitext", encoder, 0, steps)
            batches.rows.columns.append("row")
            texts = [
                [
                    dict(zip(SIDES, pairs[row], strict=True))
                    for row in batches.rows.take(number * args.batch, args.batch)["row"].to_pylist()
                ]
                for number in range(args.rounds + 1)
            ]
            theirs = peers_loss(peer, texts)
            with torch.no_grad():
                losses = our_loss(encoder, batches, 0.0)(0).item(), theirs(0).item()
            # Theirs is the mean of the two ways.
            if not math.isclose(losses[0], 2 * losses[1], rel_tol=1e-4):
                raise SystemExit(f"the losses of the first batch differ: {losses[0]} and {2 * losses[1]}")
            works = {
                "ours": stepping(encoder, our_loss(encoder, batches, 0.3), precision),
                "peer": stepping(peer, theirs, precision),
            }
            seconds, _ = in_turns(works, args.rounds)
            speeds = " | ".join(f"{args.batch / seconds[side]:.1f}" for side in works)
            print(f"| {precision} | {speeds} | {seconds['peer'] / seconds['ours']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
