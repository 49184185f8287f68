"""Speed of a training step of MSPP, and its loss, compared with the same step by plain transformers.

    PYTHONPATH=src:. OMP_NUM_THREADS=1 python benchmarks/mspp.py [--sizes 4x256 6x384] [--batch 32] [--rounds 5]
        [--precision fp32] [--dropout 0.1]

Needs the extra `workbench`. Joint inputs of six sentences are made up, 24 tokens a sentence on average, with BERT's
30,522 subwords. A step is a forward and backward pass of MLM and MSPP on the same masked input, clipping and AdamW.

Contexture    `ScheduledObjectives`: padding is not computed, logits of masked tokens only, last layer where it is read
transformers  `BertForMaskedLM` on the batch padded to its longest row, logits of all tokens; MSPP's linear layer reads
              the means of the sentences' states

Both start from the same weights and take turns. The table has medians of the rounds, in real tokens a second, the
share of padding, and the loss of the last step. With --dropout 0, losses are equal up to rounding. One thread, unless
OMP_NUM_THREADS says otherwise.
"""

import argparse
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import made_up
import torch
from hf_trainer import CLIP_NORM, LEARNING_RATE, SIZES, WEIGHT_DECAY, encoder_settings
from programs import print_table
from pydantic import TypeAdapter
from torch import Tensor, nn
from transformers import BertForMaskedLM
from turns import measure_in_turns

from contexture.encoders.base import Encoder, build_encoder
from contexture.encoders.config import Lengths, TransformerConfig
from contexture.encoders.heads import candidate_loss, sentence_states
from contexture.objectives.mlm import MaskedLanguageModel
from contexture.objectives.mspp import MultiSentencesInParagraph
from contexture.objectives.settings import MlmConfig, MsppConfig
from contexture.reporting.provenance import describe_processor
from contexture.streams.base import Batching
from contexture.streams.joint.batches import Joint
from contexture.streams.joint.config import JointConfig
from contexture.training.config import OptimizerConfig
from contexture.training.module import ScheduledObjectives

#: Steps of a round.
STEPS = 4
INPUTS = ("input_ids", "attention_mask", "position_ids", "token_type_ids")

#: A batch, and the seed of its masks → the loss.
LossOf = Callable[[Any, int], Tensor]


class Plain(nn.Module):
    """MLM and MSPP by `BertForMaskedLM` and a linear layer, from the weights of an encoder and an objective."""

    def __init__(self, encoder: Encoder, mlm: MaskedLanguageModel, mspp: MultiSentencesInParagraph) -> None:
        super().__init__()
        model: Any = encoder.document.model
        self.model = BertForMaskedLM(model.config)
        self.model.load_state_dict(model.state_dict())
        self.head = nn.Linear(encoder.hidden_size, 2)
        self.head.load_state_dict(mspp.head.classifier.state_dict())
        self.mask = mlm.corrupt

    def loss(self, batch: Any, seed: int) -> Tensor:
        """Return the sum of the two losses."""
        batch = self.mask(batch, torch.Generator().manual_seed(seed))
        labels = batch["mlm_targets"]
        output = self.model(**{name: batch[name] for name in INPUTS}, labels=labels, output_hidden_states=True)
        sentences = sentence_states(output.hidden_states[-1], batch["pooling"])
        total: Tensor = output.loss + candidate_loss(self.head(sentences[:, 1:]), batch["labels"])
        return total


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["4x256", "6x384"])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--dropout", type=float, default=0.1)
    args = parser.parse_args(arguments)
    processor = describe_processor()["processor"]
    print(f"{processor}, {torch.get_num_threads()} threads, {args.precision}, dropout {args.dropout}\n")
    for size in args.sizes:
        compare(size, args)


def compare(size: str, args: argparse.Namespace) -> None:
    """Print the table of a size."""
    torch.manual_seed(0)
    config, stream = TypeAdapter(TransformerConfig).validate_python(encoder_settings(size, args)), JointConfig()
    lengths = Lengths(query=64, document=64)
    encoder = build_encoder(config, lengths, made_up.vocabulary(), stream.needs(lengths), head=True)
    mlm, mspp = MaskedLanguageModel(MlmConfig(), encoder), MultiSentencesInParagraph(MsppConfig(), encoder)
    objectives = {"mlm": mlm, "mspp": mspp}
    with tempfile.TemporaryDirectory() as temporary:
        made_up.write_examples(Path(temporary), STEPS * args.batch)
        batches = Joint(stream, Path(temporary) / "joint", encoder, 0, Batching(args.batch))
        read = [batches.batch(step, 0) for step in range(STEPS)]
    optimizer = OptimizerConfig(learning_rate=LEARNING_RATE, weight_decay=WEIGHT_DECAY, clip_norm=CLIP_NORM)
    ours = ScheduledObjectives(
        encoder, objectives, {"joint": batches}, dict.fromkeys(objectives, "joint"),
        lambda step: dict.fromkeys(objectives, 1.0), STEPS, optimizer, seed=0,
    )  # fmt: skip
    plain = Plain(encoder, mlm, mspp)

    def our_loss(batch: Any, seed: int) -> Tensor:
        losses = ours.losses({"joint": batch}, torch.Generator().manual_seed(seed))
        return torch.stack([loss.value for loss in losses.values()]).sum()

    sides: dict[str, tuple[LossOf, nn.Module]] = {"Contexture": (our_loss, ours), "transformers": (plain.loss, plain)}
    optimizers = {
        name: torch.optim.AdamW(module.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY, fused=True)
        for name, (_, module) in sides.items()
    }
    losses: dict[str, float] = {}

    def train_side(name: str) -> None:
        loss, module = sides[name]
        losses[name] = train(loss, module.train(), optimizers[name], read, args.precision == "bf16")

    medians = measure_in_turns({name: partial(train_side, name) for name in sides}, args.rounds)
    tokens = sum(sum(batch["lengths"]) for batch in read)
    computed = {"Contexture": tokens, "transformers": sum(batch["input_ids"].numel() for batch in read)}
    rows = [
        [name, tokens / median, median / medians["Contexture"], 1 - tokens / computed[name], losses[name]]
        for name, median in medians.items()
    ]
    print_table(
        [size, "tokens/s", "Contexture is faster by", "padding", "loss"],
        [[name, f"{speed:,.0f}", f"{ratio:.2f}", f"{padding:.0%}", f"{loss:.4f}"]
         for name, speed, ratio, padding, loss in rows],
    )  # fmt: skip


def train(
    loss_of: LossOf, module: nn.Module, optimizer: torch.optim.Optimizer, batches: list[Any], bf16: bool
) -> float:
    """Train a step on each batch and return the last loss."""
    for step, batch in enumerate(batches):
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = loss_of(batch, step)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(module.parameters(), CLIP_NORM)
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    main()
