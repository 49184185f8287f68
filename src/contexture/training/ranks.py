"""What a process is told that `torch.distributed.run` started together with others, on one machine or on several."""

import os

from torch import distributed
from torch.distributed.rendezvous import rendezvous


def started_together() -> bool:
    """Whether this process is one of those."""
    return distributed.is_torchelastic_launched()


def own_rank() -> int:
    """The number of this process among them; 0 where it is alone."""
    return int(os.environ.get("RANK", "0"))


def ranks_here(ranks: int) -> int:
    """How many of them are on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", ranks))


class Word:
    """A word that the first process gives to the others, before they train and are connected otherwise."""

    def __init__(self, ranks: int) -> None:
        """Raises ValueError where there are not so many processes."""
        self.store, self.rank, found = next(rendezvous("env://"))
        if found != ranks:
            raise ValueError(
                f"devices is {ranks}, but {found} processes were started: nodes × processes a node must be as many"
            )
        # What is started anew after an error may find the word of its first attempt.
        self.key = f"contexture/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"

    def give(self, word: str) -> None:
        """From the first process."""
        self.store.set(self.key, word)

    def wait(self) -> str:
        """What it gave; RuntimeError where nothing comes in half an hour."""
        return str(self.store.get(self.key), "utf-8")
