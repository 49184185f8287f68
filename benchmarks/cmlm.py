"""Speed of a step of CMLM compared with its parts as plain transformers does them.

    python benchmarks/cmlm.py [--examples data/05_model_input/cmlm/sequence_pairs] [--size small] [--batch 32]
        [--tokens 256] [--rounds 5] [--precision fp32]

Needs the extra `workbench`; about three minutes on two cores. The text is that of --examples, the table of pairs that
`kedro run --pipelines cmlm --tags examples` makes, whose tokens must be among BERT's 30,522; without it, made-up
sequences that whole sentences fill.

ours   forward and backward of the objective: the first sequences' vectors, 15 projections, and the second sequences
       behind them; rows of like length together, logits of masked tokens only
parts  the same twice through BertModel and BertForMaskedLM, the batch padded to its longest row: the mean of the first
       sequences' states, and the loss of the second ones with 15 more positions, logits of all tokens

Prints medians in turns, their ratio, tokens a second (those of both sequences), and what share of the device's
measured matrix product both make of the FLOPs that ours needs.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import made_up
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM
from turns import measure_in_turns

from contexture.encoders.base import TextBatch, build_encoder
from contexture.encoders.config import Lengths, TableSizes
from contexture.encoders.layout import row_lengths
from contexture.objectives.cmlm import ConditionalMaskedLanguageModel
from contexture.objectives.settings import CmlmConfig
from contexture.streams.base import Batching
from contexture.streams.sequence_pairs.batches import SequencePairs
from contexture.streams.sequence_pairs.config import SequencePairsConfig

#: Batches that are measured one after the other.
BATCHES = 4
#: Rows and columns of the matrices whose product is measured.
MATRIX = 2048


def matmul_peak(bf16: bool) -> float:
    """FLOP a second of a product of square matrices."""
    matrix = torch.randn(MATRIX, MATRIX, dtype=torch.bfloat16 if bf16 else torch.float32)
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - began)
    return 2 * MATRIX**3 / min(seconds)


def padded(texts: TextBatch, names: Sequence[str]) -> list[Tensor]:
    """Tables (B, T) of all texts in their order, at the width of the longest, filled up with 0."""
    chunks = texts["chunks"]
    width = max(chunk["input_ids"].shape[1] for chunk in chunks)
    return [
        torch.cat([nn.functional.pad(chunk[name], (0, width - chunk[name].shape[1])) for chunk in chunks])[
            texts["rows"]
        ]
        for name in names
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=Path)
    parser.add_argument("--size", choices=list(made_up.SIZES), default="small")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    args = parser.parse_args(arguments)
    bf16 = args.precision == "bf16"
    torch.manual_seed(0)
    lengths = Lengths(query=args.tokens, document=args.tokens)
    encoder = build_encoder(
        made_up.transformer(args.size, dropout=0.1), lengths, made_up.vocabulary(), TableSizes(args.tokens), head=True
    ).train()
    settings = CmlmConfig(projections=min(15, args.tokens - 2))
    objective = ConditionalMaskedLanguageModel(settings, encoder)
    with tempfile.TemporaryDirectory() as made:
        if args.examples is None:
            made_up.write_sequence_pairs(Path(made), BATCHES * args.batch, args.tokens - 2)
        folder = args.examples or Path(made) / "sequence_pairs"
        stream = SequencePairs(SequencePairsConfig(), folder, encoder, 0, Batching(args.batch))
        batches = [stream.batch(step, 0) for step in range(BATCHES)]
    batches = [objective.corrupt(batch, torch.Generator().manual_seed(step)) for step, batch in enumerate(batches)]

    model = encoder.document.model.config
    plain = BertForMaskedLM(BertConfig(**{**model.to_dict(), "max_position_embeddings": args.tokens + 15})).train()

    def ours(batch: Any) -> None:
        objective(encoder, encoder.pooled_states(batch["texts"]), batch).value.backward()

    def parts(batch: Any) -> None:
        ids, mask = padded(batch["texts"], ("input_ids", "attention_mask"))
        states = plain.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        mean = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        mean.square().mean().backward()
        ids, mask = batch["second"]["input_ids"], batch["second"]["attention_mask"]
        more = (settings.projections, 0)
        longer = {name: nn.functional.pad(tensor, more, value=value) for name, tensor, value in (
            ("input_ids", ids, 5), ("attention_mask", mask, 1), ("labels", batch["cmlm_targets"], -100)
        )}  # fmt: skip
        plain(**longer).loss.backward()

    def train(step: Callable[[Any], None], module: nn.Module) -> None:
        for batch in batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                step(batch)
            module.zero_grad()

    works = {
        "ours": partial(train, ours, nn.ModuleList([encoder, objective])),
        "parts": partial(train, parts, plain),
    }
    medians = {name: seconds / BATCHES for name, seconds in measure_in_turns(works, args.rounds).items()}

    flops = float(sum(encoder.flops(batch) + objective.flops(batch) for batch in batches)) / BATCHES
    tokens = float(sum(row_lengths(batch).sum() for batch in batches)) / BATCHES
    peak = matmul_peak(bf16)
    threads = torch.get_num_threads()
    print(f"{args.size}, {args.batch} pairs of {args.tokens} tokens at most, {args.precision}, {threads} threads")
    print(f"a matrix product makes {peak / 1e9:.0f} GFLOP/s; a step needs {flops / 1e9:.1f} GFLOP")
    for name, median in medians.items():
        print(f"{name:6} {median:6.3f} s a step  {tokens / median:8,.0f} tokens/s  {flops / median / peak:5.0%} of it")
    print(f"ratio  {medians['ours'] / medians['parts']:6.2f}")


if __name__ == "__main__":
    main()
