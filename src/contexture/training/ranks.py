"""Processes of one run, started by `torch.distributed.run` on one machine or on several."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import distributed
from torch.distributed.rendezvous import rendezvous


def is_distributed() -> bool:
    """Return whether `torch.distributed.run` started this process."""
    return distributed.is_torchelastic_launched()


def get_rank() -> int:
    """Return the number of this process among those of the run; 0 if it is the only one."""
    return int(os.environ.get("RANK", "0"))


def count_local_ranks(ranks: int) -> int:
    """Return the number of the run's processes on this machine; by default all, `ranks`."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", ranks))


def decide_once(file: Path, rank: int, decide: Callable[[], Any]) -> Any:
    """Return the decision (JSON) of the first process, which saves it to `file` for the others and for resumed runs.

    Only rank 0 calls `decide`, and only if `file` is missing: by their clocks, processes would decide differently.
    """
    if rank == 0 and not file.exists():
        temporary_file = file.with_suffix(".new")
        temporary_file.write_text(json.dumps(decide()), encoding="utf-8")
        temporary_file.replace(file)
    while not file.exists():
        time.sleep(0.1)
    return json.loads(file.read_text(encoding="utf-8"))


class Channel:
    """Sends a message from the first process to the others before training connects them."""

    def __init__(self, ranks: int) -> None:
        """Connect the processes; raises ValueError if there are not `ranks` of them."""
        self.store, self.rank, started = next(rendezvous("env://"))
        if started != ranks:
            raise ValueError(
                f"devices is {ranks}, but {started} processes were started: nodes × processes per node must be {ranks}"
            )
        # A restart after an error may read what the first attempt sent.
        self.key = f"contexture/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"

    def send(self, message: str) -> None:
        """Send a message to the other processes; only the first process calls this."""
        self.store.set(self.key, message)

    def wait(self) -> str:
        """Wait for the first process's message and return it; raises RuntimeError after half an hour."""
        return str(self.store.get(self.key), "utf-8")
