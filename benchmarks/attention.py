"""Fused attention compared with plain products, forward and backward in bfloat16 on a CPU, by the length of the rows.

    python benchmarks/attention.py

CPU seconds of a step on 3,072 tokens, the median of rounds in turns. On a processor with AMX plain products were as
many times as fast as fused attention:

    layers × width    24     64    128    160    192    256    384 tokens
    6 × 384         2.02   1.82   1.61   1.66   1.21   1.09   1.04
    2 × 256         1.61   1.49   1.44   1.44   1.18   1.17   1.16
    2 × 128         1.58   1.48   1.50   1.45   1.19   1.18   1.13
    2 × 768         1.32   1.24   1.25   1.27   1.16   1.04   1.02

On another day they were at 256 tokens 0.80, 1.03, 1.06 and 0.87 times as fast.
"""

import argparse
import time
from statistics import median

import torch
from transformers import BertConfig, BertModel

SIZES = ((384, 6, 12), (256, 2, 4), (128, 2, 2), (768, 2, 12))
LENGTHS = (24, 64, 128, 160, 192, 256, 384)
TOKENS = 3072


def step(model: BertModel, ids: torch.Tensor, kind: str) -> float:
    """CPU seconds of one forward and backward pass with one kind of attention."""
    model.config._attn_implementation = kind
    start = time.process_time()
    with torch.autocast("cpu", torch.bfloat16):
        states = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    states.float().square().mean().backward()
    model.zero_grad()
    return time.process_time() - start


def main() -> None:
    """Measure and print a row for each size and length."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print("hidden layers heads tokens  fused  plain  ratio")
    for hidden, layers, heads in SIZES:
        config = BertConfig(
            vocab_size=2000,
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * hidden,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
        model = BertModel(config).train()
        for length in LENGTHS:
            ids = torch.randint(10, 2000, (TOKENS // length, length))
            times = [(step(model, ids, "sdpa"), step(model, ids, "eager")) for _ in range(rounds)]
            fused, plain = (median(column) for column in zip(*times, strict=True))
            print(
                f"{hidden:6} {layers:6} {heads:5} {length:6} {fused:6.3f} {plain:6.3f} {fused / plain:6.2f}", flush=True
            )


if __name__ == "__main__":
    main()
