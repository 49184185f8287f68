"""Save encoders during a run, with their training time."""

import json
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from contexture.folders import work_folder
from contexture.training.module import ScheduledObjectives, is_step_end, synchronize

SNAPSHOTS_DIR = "snapshots"
TIME_FILE = "time.json"


class Snapshots(pl.Callback):
    """Save the encoder at `count` equal intervals, the last step included, in `<folder>/snapshots/<step>`.

    `time.json` has the step and the seconds of training up to it, without those of saving. In a resumed run the steps
    between the last snapshot and the checkpoint are assumed to be as fast as those after it.
    """

    def __init__(self, folder: Path, steps: int, count: int, save: Callable[[Path], None]) -> None:
        self.folder, self.save = folder / SNAPSHOTS_DIR, save
        self.steps = {round(steps * number / count) for number in range(1, count + 1)}

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock at the training time of the last snapshot."""
        assert isinstance(module, ScheduledObjectives)
        times = [read_time(snapshot) for snapshot in list_snapshots(self.folder.parent)]
        start = {"step": 0, "seconds": 0.0}
        self.last = max(
            (moment for moment in times if moment["step"] <= module.step), key=itemgetter("step"), default=start
        )
        self.first_step, self.started = module.step, module.clock()

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Save a snapshot, with its training time, if this step has one."""
        assert isinstance(module, ScheduledObjectives)
        step = module.step
        if not is_step_end(trainer) or step not in self.steps or not trainer.is_global_zero:
            return
        synchronize(module.device)
        elapsed = module.clock() - self.started
        seconds = self.last["seconds"] + elapsed * (step - self.last["step"]) / (step - self.first_step)
        snapshot = self.folder / f"{step:08d}"
        snapshot.parent.mkdir(exist_ok=True)
        with module.pause_clock(), work_folder(snapshot) as work:
            self.save(work)
            (work / TIME_FILE).write_text(json.dumps({"step": step, "seconds": seconds}), encoding="utf-8")
        self.last, self.first_step, self.started = {"step": step, "seconds": seconds}, step, module.clock()


def list_snapshots(folder: Path) -> list[Path]:
    """Return the folders of a run's snapshots in the order of their steps."""
    return [file.parent for file in sorted((folder / SNAPSHOTS_DIR).glob(f"[0-9]*[0-9]/{TIME_FILE}"))]


def read_time(snapshot: Path) -> dict[str, float]:
    """Read the `step` of a snapshot and the `seconds` of training up to it."""
    times: dict[str, float] = json.loads((snapshot / TIME_FILE).read_text(encoding="utf-8"))
    return times
