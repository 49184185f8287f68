"""Processes of one run, which `torch.distributed.run` started on one machine or on several."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import distributed
from torch.distributed.rendezvous import rendezvous


def is_distributed() -> bool:
    """Whether this process is one of several."""
    return distributed.is_torchelastic_launched()


def get_rank() -> int:
    """The number of this process among them; 0 if it is the only one."""
    return int(os.environ.get("RANK", "0"))


def count_local_ranks(ranks: int) -> int:
    """How many of them are on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", ranks))


def decide_once(file: Path, rank: int, decide: Callable[[], Any]) -> Any:
    """What the first process decides, plain data: written to `file`, where others and a resumed run read it.

    Each process would decide something else by its clock. Only rank 0 calls `decide`, and only if `file` is missing.
    """
    if rank == 0 and not file.exists():
        new = file.with_suffix(".new")
        new.write_text(json.dumps(decide()), encoding="utf-8")
        new.replace(file)
    while not file.exists():
        time.sleep(0.1)
    return json.loads(file.read_text(encoding="utf-8"))


class Channel:
    """From the first process to the others, before they train and are connected otherwise."""

    def __init__(self, ranks: int) -> None:
        """Raises ValueError if the number of processes is another one."""
        self.store, self.rank, started = next(rendezvous("env://"))
        if started != ranks:
            raise ValueError(
                f"devices is {ranks}, but {started} processes were started: nodes × processes a node must be as many"
            )
        # A restart after an error may read what the first attempt sent.
        self.key = f"contexture/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"

    def send(self, message: str) -> None:
        """From the first process."""
        self.store.set(self.key, message)

    def wait(self) -> str:
        """Return the word; RuntimeError after half an hour without one."""
        return str(self.store.get(self.key), "utf-8")
