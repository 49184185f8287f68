"""Nodes of the stage `adopt`."""

import json
import shutil
from pathlib import Path

from contexture.folders import work_folder
from contexture.paths import DETAILS_FILE, RECORDS_FILE, encoder_dir
from contexture.pipelines.named import select_group
from contexture.tasks.base import EncoderChooser
from contexture.tasks.registry import TASKS
from contexture.training.card import CARD


def adopt(chooser: str, results: Path, place: Path, **inputs: Path) -> Path:
    """The encoder, of the first seed, that the results of the task `chooser` choose, with these results on its card.

    `inputs` are the folders of the variants, as `encoders/<variant>`.
    """
    pretrained = select_group(inputs, "encoders")
    task = TASKS[chooser].load()
    assert isinstance(task, EncoderChooser)  # `TaskSpec.chooses_encoder`
    best = task.choose_encoder(json.loads((results / DETAILS_FILE).read_text(encoding="utf-8")), list(pretrained))
    run = pretrained[best]
    with work_folder(place) as work:
        shutil.copytree(encoder_dir(run.parent, run.name, 0), work, dirs_exist_ok=True)
        records = json.loads((results / RECORDS_FILE).read_text(encoding="utf-8"))
        with (work / CARD).open("a", encoding="utf-8") as card:
            card.write(task.render_card_section(records, best))
    return place
