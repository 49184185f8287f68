"""One of two processes that share a batch: `python -m tests.objectives.two_ranks RANK PORT FOLDER`."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn

from contexture.encoders.base import Encoder
from contexture.objectives.cross_thought import CrossThought
from contexture.objectives.devices import first_row_index, gather_devices, is_distributed
from contexture.objectives.masking import IGNORED_TARGET
from contexture.objectives.simcse import contrastive_loss
from tests.objectives.losses import CASES, Case, vectors
from tests.objectives.test_cross_thought import make_batch, make_objective

#: First and second vectors of six sentences, three for each rank.
VIEWS = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(4))


#: Samples of Cross-Thought, one for each rank, and the number of masked tokens in each sequence.
SAMPLES = [[[20, 21, 22, 23], [30, 31, 32]], [[24, 25], [26, 27]]]
MASKED = [3, 1]


def cross_thought() -> tuple[Encoder, CrossThought]:
    """An encoder and its objective, the same on every rank."""
    torch.manual_seed(0)
    return make_objective()


def cross_thought_batch(encoder: Encoder, objective: CrossThought, *ranks: int) -> dict[str, Any]:
    """A masked batch with the samples of some ranks."""
    batch = make_batch(encoder, [SAMPLES[rank] for rank in ranks], 10_000)
    (chunk,), rows = batch["sequences"]["chunks"], batch["sequences"]["rows"].tolist()
    targets = torch.full_like(chunk["input_ids"], IGNORED_TARGET)
    for number, row in enumerate(rows):
        words = slice(objective.num_leading, objective.num_leading + MASKED[ranks[number // 2]])
        targets[row, words] = chunk["input_ids"][row, words]
    ids = chunk["input_ids"].masked_fill(targets != IGNORED_TARGET, encoder.vocabulary.tokens.mask)
    return {**batch, "sequences": {**batch["sequences"], "chunks": [{**chunk, "input_ids": ids, "targets": targets}]}}


class EncoderModule(nn.Module):
    """An encoder as a module for DistributedDataParallel."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        return vectors(self.encoder, batch)


def train_case(case: Case, rank: int) -> dict[str, Any]:
    """Return the loss of this rank, and the gradient averaged over ranks."""
    encoder = case.encoder()
    batch = case.batch(encoder, range(rank * 4, rank * 4 + 4), 40)
    parallel = nn.parallel.DistributedDataParallel(EncoderModule(encoder))  # averages gradients while it exists
    loss = case.loss(encoder, batch, parallel(batch))
    loss.backward()
    gradient = {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}
    return {"loss": loss.detach(), "gradient": gradient}


def compute_results(rank: int) -> dict[str, Any]:
    results: dict[str, Any] = {"several": is_distributed(), "first_row": first_row_index(5)}
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).add_(10 * rank).requires_grad_()
    gathered = gather_devices(values)
    ((rank + 1) * gathered * torch.arange(8.0).view(4, 2)).sum().backward()
    results["gathered"], results["gathered_gradient"] = gathered.detach(), values.grad
    results["numbers"] = gather_devices(torch.tensor([rank, 7]))
    results["turned"] = gather_devices(torch.arange(6).view(2, 3).T + 10 * rank)  # not contiguous
    results |= {name: train_case(case, rank) for name, case in CASES.items()}
    cross, objective = cross_thought()
    batch = cross_thought_batch(cross, objective, rank)
    results["cross_thought"] = objective(
        cross, cross.sequence_states(batch["sequences"]["chunks"]), batch
    ).value.detach()
    views = VIEWS[:, rank * 3 : rank * 3 + 3].clone().requires_grad_()
    loss = contrastive_loss(views[0], views[1], 0.1)
    loss.value.backward()
    results["views"] = {"loss": loss.value.detach(), "gradient": views.grad, "accuracy": loss.metrics["accuracy"]}
    return results


def main(rank: int, port: str, folder: Path) -> None:
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.save(compute_results(rank), folder / f"{rank}.new")
    (folder / f"{rank}.new").rename(folder / f"{rank}.pt")
    while not (folder / f"{1 - rank}.pt").exists():  # the other process still reads from this one
        time.sleep(0.1)
    os._exit(0)  # gloo's threads sometimes hang at exit


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
