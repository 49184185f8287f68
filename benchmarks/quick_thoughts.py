"""Speed of Quick-Thoughts compared with Skip-Thought, and of the GRU beside PyTorch's own.

    python benchmarks/quick_thoughts.py [--sentences data/05_model_input/quick_thoughts/sentences] [--rounds 3]
        [--hidden 1000] [--word-size 300] [--words 20000] [--batch 400] [--precision fp32]

Needs the extra `workbench`; about five minutes on two cores. The defaults are those of the paper's comparison (appendix
C): the same encoder, a GRU of H = 1,000 units over embeddings of W = 300 of V = 20,000 words, batches of 400 contiguous
sentences, Adam. The text is that of --sentences, the table that `kedro run --pipelines quick_thoughts --tags examples`
makes; without it, made-up sentences as long as those of novels (19 words on average, 50 at most).

objectives  one optimizer step of each objective on the same batches, in turns: forward, backward, clipping and Adam.
            Sentences a second; the paper has 4.8 times as many for Quick-Thoughts. Medians of rounds after the first.
gru         forward and backward of f over the words of a batch, with embeddings, without padding, compared with a
            bare torch.nn.GRU over as many words in sentences of equal length; and what PyTorch's packed GRU does
padding     the share of padding that each kind of encoder computes
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, models
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import GruConfig, Lengths, TransformerConfig
from contexture.encoders.layout import row_lengths
from contexture.objectives.base import Objective
from contexture.objectives.quick_thoughts import QuickThoughts
from contexture.objectives.settings import QuickThoughtsConfig, SkipThoughtConfig
from contexture.objectives.skip_thought import SkipThought
from contexture.streams.base import Batching
from contexture.streams.sentences.batches import Contiguous
from contexture.streams.sentences.config import ContiguousConfig
from contexture.vocabulary.tokenizers import SpecialTokens
from contexture.vocabulary.vocabulary import Vocabulary

LENGTHS = Lengths(query=50, document=50)
PAPER_RATIO = 4.8
_CLIP, _LEARNING_RATE = 5.0, 5e-4
#: Sentences of a made-up document.
_DOCUMENT = 1000


def write_made_up(words: int, count: int, folder: Path) -> None:
    """Sentences whose words are as rare as in any language (Zipf) and which are as long as those of novels."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(2.75, 0.62, count), 1, LENGTHS.query).astype(int)
    weights = 1 / (np.arange(words - 5) + 3)
    tokens = [rng.choice(words - 5, n, p=weights / weights.sum()) + 5 for n in lengths]
    positions = np.arange(count)
    document = [str(position // _DOCUMENT) for position in positions]
    table = pa.table({"document": document, "position": positions % _DOCUMENT, "tokens": tokens})
    pq.write_table(table, folder / "made-up.parquet")


class Side:
    """An encoder with its objective and optimizer."""

    def __init__(self, name: str, encoder: Encoder, objective: Objective, precision: str) -> None:
        self.name, self.encoder, self.objective = name, encoder, objective
        self.bf16 = precision == "bf16"
        self.parameters = [*encoder.parameters(), *objective.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=_LEARNING_RATE, fused=True)
        self.seconds: list[float] = []

    def step(self, stream: Contiguous, batch: Any) -> float:
        """One optimizer step; the loss."""
        began = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            loss = self.objective(self.encoder, stream.encode(self.encoder, batch), batch).value
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, _CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.seconds.append(time.perf_counter() - began)
        return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=1000)
    parser.add_argument("--word-size", type=int, default=300)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=400)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    args = parser.parse_args()
    torch.manual_seed(0)
    tokens = SpecialTokens(cls=2, sep=3, pad=0, mask=4, unk=1, vocab_size=args.words)
    vocabulary = Vocabulary(Path(), Tokenizer(models.WordLevel({"": 1}, unk_token="")), tokens, args.words)
    pair, single = (
        build_encoder(
            GruConfig("gru", word_size=args.word_size, embedding_size=args.hidden, shared=shared), LENGTHS, vocabulary
        )
        for shared in (False, True)
    )
    with tempfile.TemporaryDirectory() as temporary:
        if args.sentences is None:
            write_made_up(args.words, args.batch * (args.rounds + 1), Path(temporary))
        folder = args.sentences or Path(temporary)
        print(f"{torch.get_num_threads()} threads, {args.precision}; batches of {args.batch} sentences")
        stream = stream_of(folder, pair, args.batch)
        compare_objectives(
            Side("Quick-Thoughts", pair, QuickThoughts(QuickThoughtsConfig(), pair), args.precision),
            Side("Skip-Thought", single, SkipThought(SkipThoughtConfig(), single), args.precision),
            stream,
            args.rounds,
        )
        compare_grus(pair.query, stream.batch(0, 0)["texts"]["chunks"][0], args.rounds)
        show_padding(folder, vocabulary, args.batch)


def stream_of(folder: Path, encoder: Encoder, batch: int) -> Contiguous:
    """Batches as training has them."""
    return Contiguous(ContiguousConfig(), folder, encoder, 0, Batching(batch, tokens_at_once=4096))


def compare_objectives(ours: Side, peer: Side, stream: Contiguous, rounds: int) -> None:
    print("\nobjective       parameters  sentences/s     words/s  loss")
    words = []
    for step in range(rounds + 1):
        batch = stream.batch(step, 0)
        words.append(int(row_lengths(batch["texts"]).sum()))
        losses = [side.step(stream, batch) for side in (ours, peer)]
    for side, loss in zip((ours, peer), losses, strict=True):
        count = sum(p.numel() for p in side.parameters)
        seconds = statistics.median(side.seconds[1:])
        rate = stream.batching.batch_size / seconds
        mean_words = statistics.mean(words[1:]) / seconds
        print(f"{side.name:15s} {count / 1e6:9.1f}M {rate:12.1f} {mean_words:11.0f}  {loss:.3f}")
    ratios = [peer_s / our_s for peer_s, our_s in zip(peer.seconds[1:], ours.seconds[1:], strict=True)]
    print(
        f"ratio: {statistics.median(ratios):.2f} (paper: {PAPER_RATIO}); of the rounds: {[f'{r:.2f}' for r in ratios]}"
    )


def compare_grus(encoder: Any, batch: dict[str, torch.Tensor], rounds: int) -> None:
    lengths = batch["attention_mask"].sum(dim=1)
    words, sentences = int(lengths.sum()), len(lengths)
    gru, size = encoder.gru, encoder.words.embedding_dim
    equal = torch.randn(words // sentences, sentences, size, requires_grad=True)

    def ours() -> None:
        encoder(batch).sum().backward()

    def bare() -> None:
        gru(equal)[1].sum().backward()

    def packed() -> None:
        ids = pack_padded_sequence(batch["input_ids"], lengths, batch_first=True, enforce_sorted=False)
        gru(ids._replace(data=encoder.words(ids.data)))[1].sum().backward()

    speeds = {}
    print("\nGRU, forward and backward             words/s")
    for name, run, count in (
        ("ours, with embeddings", ours, words),
        ("torch.nn.GRU, sentences of one length", bare, equal.shape[0] * sentences),
        ("torch.nn.GRU, packed, with embeddings", packed, words),
    ):
        speeds[name] = count / timed(run, rounds)
        print(f"{name:37s} {speeds[name]:8.0f}")
    first, second, *_ = speeds.values()
    print(f"ours / bare: {first / second:.2f}")


def show_padding(folder: Path, vocabulary: Vocabulary, size: int) -> None:
    small = TransformerConfig(hidden_size=32, embedding_size=32)
    stream = stream_of(folder, build_encoder(small, LENGTHS, vocabulary), size)
    print("\npadding computed: gru and bag of words 0.0 %", end="")
    chunks = [chunk["attention_mask"] for step in range(3) for chunk in stream.batch(step, 0)["texts"]["chunks"]]
    real, all_ = sum(int(mask.sum()) for mask in chunks), sum(mask.numel() for mask in chunks)
    print(f", transformer {100 * (1 - real / all_):.1f} %")


def timed(run: Callable[[], None], rounds: int) -> float:
    run()
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
