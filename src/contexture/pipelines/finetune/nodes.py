"""Nodes of the stage `finetune`."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from contexture.folders import work_folder
from contexture.pipelines.examples.nodes import parameters_of


def finetune_all_seeds(variant: str, answers_file: Path, pretrained: Path, system: dict[str, Any], place: Path) -> Path:
    """Fine-tune one variant with every seed: `<place>/seed-<n>`; an empty folder where there are no questions."""
    from contexture.pipelines.tracking import child_run, log_model
    from contexture.tasks.answer_selection.finetune import finetune

    config = parameters_of(system)
    shutil.rmtree(place, ignore_errors=True)  # or seeds of an earlier run would pass for seeds of this one
    place.mkdir()
    if pd.read_parquet(answers_file, columns=["split"]).empty:
        return place
    for seed in range(config.seeds):
        folder = place / f"seed-{seed}"
        with child_run(f"finetune {variant} seed {seed}", {"variant": variant, "seed": str(seed)}) as tracking:
            with work_folder(folder) as work:
                finetune(config, variant, seed, answers_file, pretrained / f"seed-{seed}", work, tracking)
            log_model(tracking, folder)
    return place
