"""What the processes of a run must agree on, though each would find something else by its own clock."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def decided(file: Path, rank: int, decide: Callable[[], Any]) -> Any:
    """What the first process decides, plain data: written to `file`, where others, and a run that is resumed, find it.

    `decide` is called by rank 0 alone, and only where nothing is decided yet.
    """
    if rank == 0 and not file.exists():
        new = file.with_suffix(".new")
        new.write_text(json.dumps(decide()), encoding="utf-8")
        new.replace(file)
    while not file.exists():
        time.sleep(0.1)
    return json.loads(file.read_text(encoding="utf-8"))
