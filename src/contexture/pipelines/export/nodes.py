"""Nodes of the stage `export`."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from contexture.folders import work_folder
from contexture.paths import DETAILS_FILE, RECORDS_FILE, encoder_dir
from contexture.pipelines.named import select_group
from contexture.tasks.base import EncoderChooser
from contexture.tasks.registry import TASKS


def export(chooser: str, seed: int, results_dir: Path, output_dir: Path, **inputs: Path) -> tuple[Path, dict[str, Any]]:
    """Copy the best encoder with `seed` by the results of the task `chooser`, and add the results to its card.

    Returns its folder, and `SearchDefaults`: how to search with it.

    `inputs` are the folders of the variants, as `encoders/<variant>`.
    """
    from contexture.training.card import add_results

    pretrained = select_group(inputs, "encoders")
    task = TASKS[chooser].load()
    assert isinstance(task, EncoderChooser)  # `TaskSpec.chooses_encoder`
    details = json.loads((results_dir / DETAILS_FILE).read_text(encoding="utf-8"))
    best = task.choose_encoder(details, list(pretrained))
    records = json.loads((results_dir / RECORDS_FILE).read_text(encoding="utf-8"))
    run_dir = pretrained[best]
    with work_folder(output_dir) as work:
        shutil.copytree(encoder_dir(run_dir.parent, run_dir.name, seed), work, dirs_exist_ok=True)
        add_results(work, *task.card_results(records, best))
    return output_dir, asdict(task.choose_search(details, best))
