"""Nodes of the stage `pretrain`."""

import shutil
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from contexture.config import SYSTEM_PARAMETERS


def pretrain_all_seeds(
    name: str, run: str, examples: Path, tokenizer: Path, system: dict[str, Any], place: Path, start: Path | None = None
) -> Path:
    """Train a run of the system `name` with every seed, each from the same seed of the run in `start`.

    They lie in `<place>/seed-<n>`.
    """
    from contexture.pipelines.tracking import child_run
    from contexture.training.launcher import launch_pretraining

    config = TypeAdapter(SYSTEM_PARAMETERS[name]).validate_python(system)
    for finished in place.glob("seed-*[0-9]"):
        shutil.rmtree(finished)  # or seeds of an earlier run would pass for seeds of this one
    for seed in range(config.seeds):
        with child_run(f"pretrain {run} seed {seed}", {"run": run, "seed": str(seed)}) as tracking:
            before = start / f"seed-{seed}" if start else None
            launch_pretraining(config, run, seed, examples, tokenizer, place / f"seed-{seed}", before, tracking)
    return place
