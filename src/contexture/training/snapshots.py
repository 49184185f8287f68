"""Encoders kept on the way of a run, with the time that it took to come there."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from contexture.folders import work_folder
from contexture.training.module import ScheduledObjectives

FOLDER = "snapshots"
TIME_FILE = "time.json"


class Snapshots(pl.Callback):
    """Save the encoder at `count` evenly spaced steps, the last one included, in `<folder>/snapshots/<step>`.

    Beside each lies `time.json`: the step, and the seconds of training up to it, those of saving snapshots not counted.
    In a run that was resumed the steps between the last snapshot and the checkpoint count as long as those after it.
    """

    def __init__(self, folder: Path, steps: int, count: int, save: Callable[[Path], None]) -> None:
        self.folder, self.save = folder / FOLDER, save
        self.steps = {round(steps * place / count) for place in range(1, count + 1)} if count else set()

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock where the last snapshot stopped it."""
        assert isinstance(module, ScheduledObjectives)
        kept = [time_of(place) for place in snapshots(self.folder.parent)]
        self.last = max((one for one in kept if one["step"] <= module.step), key=lambda one: one["step"], default=None)
        self.begun_at, self.since = module.step, time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """After an optimizer step of which the encoder is kept."""
        assert isinstance(module, ScheduledObjectives)
        step, stepped = module.step, (batch_idx + 1) % trainer.accumulate_grad_batches == 0
        if not stepped or step not in self.steps or not trainer.is_global_zero:
            return
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        spent = time.perf_counter() - self.since
        before, seconds = (self.last["step"], self.last["seconds"]) if self.last else (0, 0.0)
        seconds += spent * (step - before) / (step - self.begun_at)
        place = self.folder / f"{step:08d}"
        place.parent.mkdir(exist_ok=True)
        with work_folder(place) as work:
            self.save(work)
            (work / TIME_FILE).write_text(json.dumps({"step": step, "seconds": seconds}), encoding="utf-8")
        self.last, self.begun_at, self.since = {"step": step, "seconds": seconds}, step, time.perf_counter()


def snapshots(folder: Path) -> list[Path]:
    """The folders of the encoders that a run kept, in the order of their steps."""
    return [place.parent for place in sorted((folder / FOLDER).glob(f"[0-9]*[0-9]/{TIME_FILE}"))]


def time_of(snapshot: Path) -> dict[str, float]:
    """`step` and `seconds` of training of a snapshot."""
    found: dict[str, float] = json.loads((snapshot / TIME_FILE).read_text(encoding="utf-8"))
    return found
