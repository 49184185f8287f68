"""One of two processes that share a batch: `python -m tests.objectives.two_ranks RANK PORT FOLDER`."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn

from contexture.encoders.base import Encoder
from contexture.objectives.devices import first_row, gathered, several
from contexture.objectives.simcse import contrast
from tests.encoders.toys import build
from tests.objectives.losses import in_batch_loss, neighbour_loss, neighbours, pairs, towers, vectors

#: First and second vectors of six sentences, three for each rank.
VIEWS = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(4))


class Encodes(nn.Module):
    """An encoder that takes a whole batch, as it does in training."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, batch: dict[str, Any]) -> dict[str, Tensor]:
        return vectors(self.encoder, batch)


def trained(encoder: Encoder, batch: dict[str, Any], loss_of: Callable[..., Tensor]) -> dict[str, Any]:
    """The loss of this rank, and the gradient that all ranks average to."""
    parallel = nn.parallel.DistributedDataParallel(Encodes(encoder))  # averages for as long as it is there
    loss = loss_of(encoder, batch, parallel(batch))
    loss.backward()
    gradient = {name: p.grad for name, p in encoder.named_parameters() if p.grad is not None}
    return {"loss": loss.detach(), "gradient": gradient}


def found_by(rank: int) -> dict[str, Any]:
    found: dict[str, Any] = {"several": several(), "first_row": first_row(5)}
    mine = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).add_(10 * rank).requires_grad_()
    everything = gathered(mine)
    ((rank + 1) * everything * torch.arange(8.0).view(4, 2)).sum().backward()
    found["gathered"], found["gathered_gradient"] = everything.detach(), mine.grad
    found["numbers"] = gathered(torch.tensor([rank, 7]))
    found["turned"] = gathered(torch.arange(6).view(2, 3).T + 10 * rank)  # not contiguous
    for recompute in (False, True):
        model = towers(True)
        model.recompute = recompute
        batch = pairs(model, range(rank * 4, rank * 4 + 4), 40)
        found["recomputed" if recompute else "in_batch"] = trained(model, batch, in_batch_loss)
    words = build("bidirectional", shared=False)
    found["neighbours"] = trained(words, neighbours(words, range(rank * 4, rank * 4 + 4)), neighbour_loss)
    views = VIEWS[:, rank * 3 : rank * 3 + 3].clone().requires_grad_()
    loss = contrast(views[0], views[1], 0.1)
    loss.value.backward()
    found["views"] = {"loss": loss.value.detach(), "gradient": views.grad, "accuracy": loss.metrics["accuracy"]}
    return found


def main(rank: int, port: str, folder: Path) -> None:
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.save(found_by(rank), folder / f"{rank}.new")
    (folder / f"{rank}.new").rename(folder / f"{rank}.pt")
    while not (folder / f"{1 - rank}.pt").exists():  # who leaves early closes connections that the other still reads
        time.sleep(0.1)
    os._exit(0)  # gloo's threads now and then hang in the interpreter's exit


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
