"""The curves of a run: losses, tokens and floating-point operations per second, and totals."""

import time
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from contexture.training.budget import cost
from contexture.training.curves import read_curves
from contexture.training.module import ScheduledObjectives, stepped

#: Totals up to a step: columns of the curves.
SPENT = {"tokens": "spent/tokens", "flops": "spent/flops", "seconds": "spent/seconds"}


class Recorder(pl.Callback):
    """Every few steps, and after the last, log the losses, `train/tokens_per_second` and `train/tflops` of this rank.

    Padding is not counted. `spent/…` is the total of the run on all devices; time is that of training alone.
    """

    def __init__(self, folder: Path, interval: int) -> None:
        self.folder, self.interval = folder, interval
        self.tokens = self.flops = torch.zeros((), dtype=torch.float64)

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Start the clock."""
        assert isinstance(module, ScheduledObjectives)
        self.totals = totals_of(self.folder, module.first_step)
        self._reset()

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, batch_idx: int) -> None:
        """Count the cost of the pass, and say objectives whether they are watched."""
        assert isinstance(module, ScheduledObjectives)
        tokens, flops = cost(batch, module.weights_at(module.step), module.stream_of, module)
        self.tokens, self.flops = self.tokens + tokens, self.flops + flops
        last = (batch_idx + 1) % trainer.accumulate_grad_batches == 0
        for name in module.objectives:
            module.objective(name).is_logged = last and self._records(module.step + 1, module)

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Log and start anew."""
        assert isinstance(module, ScheduledObjectives)
        if not stepped(trainer) or not self._records(module.step, module):
            return
        values = {name: float(value) for name, value in module.latest.items()}  # waits for the device
        tokens, flops, seconds = float(self.tokens), float(self.flops), time.perf_counter() - self.since
        values |= {"train/tokens_per_second": tokens / seconds, "train/tflops": flops / seconds / 1e12}
        world = trainer.world_size
        for name, amount in (("tokens", tokens * world), ("flops", flops * world), ("seconds", seconds)):
            self.totals[name] += amount
        values |= {SPENT[name]: amount for name, amount in self.totals.items()}
        for logger in trainer.loggers:  # by the step of the run: Lightning's own restarts when a run is resumed
            logger.log_metrics(values, step=module.step)
        module.log("tokens/s", tokens / seconds, prog_bar=True, logger=False)
        self._reset()

    def _records(self, step: int, module: ScheduledObjectives) -> bool:
        return step % self.interval == 0 or step == module.steps

    def _reset(self) -> None:
        self.tokens = self.flops = torch.zeros((), dtype=torch.float64)
        self.since = time.perf_counter()


def totals_of(folder: Path, last_step: int | None = None) -> dict[str, float]:
    """`tokens`, `flops` and `seconds` of a run, up to `last_step`; 0 without training."""
    curves = read_curves(folder)
    if not set(SPENT.values()) <= set(curves):
        return dict.fromkeys(SPENT, 0.0)
    if last_step is not None:
        curves = curves[curves["step"] <= last_step]
    last = curves.dropna(subset=list(SPENT.values())).tail(1)
    return {name: float(last[column].iloc[0]) if len(last) else 0.0 for name, column in SPENT.items()}
