"""Log the curves of a run: losses, tokens and floating-point operations per second, and totals."""

from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch

from contexture.training.budget import measure_cost
from contexture.training.curves import read_curves
from contexture.training.module import ScheduledObjectives, is_step_end

#: Columns of the curves with totals up to a step.
TOTAL_COLUMNS = {"tokens": "spent/tokens", "flops": "spent/flops", "seconds": "spent/seconds"}


class Recorder(pl.Callback):
    """Log losses, `train/tokens_per_second` and `train/tflops` every few steps and after the last one.

    Losses are means over all devices, of the last pass of the step; speeds are those of the first device. `spent/…` are
    totals of the run on all devices. Padding, and time outside of training, are not counted. A checkpoint has the
    totals, with which a resumed run continues.
    """

    def __init__(self, folder: Path, interval: int, checkpoint_interval: int | None = None) -> None:
        self.folder, self.interval, self.checkpoint_interval = folder, interval, checkpoint_interval
        self.tokens = self.flops = torch.zeros((), dtype=torch.float64)

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Read the totals of the run up to its first step and start the clock."""
        assert isinstance(module, ScheduledObjectives)
        self.totals = module.checkpoint_totals or read_totals(self.folder, module.first_step)
        self._restart_counts(module)

    def on_train_batch_start(self, trainer: pl.Trainer, module: pl.LightningModule, batch: Any, batch_idx: int) -> None:
        """Count the tokens and FLOPs of the batch; set `is_logged` of each objective if this step will be recorded."""
        assert isinstance(module, ScheduledObjectives)
        tokens, flops = measure_cost(batch, module.get_weights(module.step), module.stream_by_objective, module)
        self.tokens, self.flops = self.tokens + tokens, self.flops + flops
        last = (batch_idx + 1) % trainer.accumulate_grad_batches == 0
        for name in module.objectives:
            module.objective(name).is_logged = last and self._is_recorded(module.step + 1, module)

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Log losses, speed and totals, if the step is recorded, and restart the counts."""
        assert isinstance(module, ScheduledObjectives)
        if not is_step_end(trainer):
            return
        if self._is_recorded(module.step, module):
            module.log("tokens/s", self._record(trainer, module), prog_bar=True, logger=False)
        if self.checkpoint_interval and module.step % self.checkpoint_interval == 0:
            module.checkpoint_totals = self._add_counts(trainer, module)

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Log the last step of a training that ends early."""
        assert isinstance(module, ScheduledObjectives)
        if module.step > self.recorded_step:
            self._record(trainer, module)

    def _record(self, trainer: pl.Trainer, module: ScheduledObjectives) -> float:
        """Log losses, speed and totals of the last step, and return the tokens per second."""
        tokens, flops = float(self.tokens), float(self.flops)  # waits for the device
        seconds = module.clock() - self.started
        losses = self._reduce([float(value) for value in module.latest_losses.values()], "mean", trainer)
        values = dict(zip(module.latest_losses, losses, strict=True))
        values |= {"train/tokens_per_second": tokens / seconds, "train/tflops": flops / seconds / 1e12}
        self.totals = self._add_counts(trainer, module)
        values |= {TOTAL_COLUMNS[name]: amount for name, amount in self.totals.items()}
        for logger in trainer.loggers:  # Lightning's step restarts in a resumed run
            logger.log_metrics(values, step=module.step)
        self._restart_counts(module)
        return tokens / seconds

    def _add_counts(self, trainer: pl.Trainer, module: ScheduledObjectives) -> dict[str, float]:
        """Return the totals of the run on all devices, up to the last step."""
        tokens, flops = self._reduce([float(self.tokens), float(self.flops)], "sum", trainer)
        counts = {"tokens": tokens, "flops": flops, "seconds": module.clock() - self.started}
        return {name: total + counts[name] for name, total in self.totals.items()}

    def _reduce(self, values: list[float], operation: str, trainer: pl.Trainer) -> list[float]:
        """Return the means or sums of values over all devices."""
        device = trainer.strategy.root_device
        reduced = trainer.strategy.reduce(torch.tensor(values, dtype=torch.float64, device=device), reduce_op=operation)
        assert isinstance(reduced, torch.Tensor)
        return [float(value) for value in reduced.tolist()]

    def _is_recorded(self, step: int, module: ScheduledObjectives) -> bool:
        """Return whether the step's losses are logged: every `interval` steps, and the last one."""
        return step % self.interval == 0 or step == module.steps

    def _restart_counts(self, module: ScheduledObjectives) -> None:
        """Set the counts of tokens and FLOPs to 0 and start the clock again, after a step is recorded."""
        self.recorded_step = module.step
        self.tokens = self.flops = torch.zeros((), dtype=torch.float64)
        self.started = module.clock()


def read_totals(folder: Path, last_step: int | None = None) -> dict[str, float]:
    """Read the total `tokens`, `flops` and `seconds` of a run, up to `last_step`; 0 without training."""
    curves = read_curves(folder)
    if not set(TOTAL_COLUMNS.values()) <= set(curves):
        return dict.fromkeys(TOTAL_COLUMNS, 0.0)
    if last_step is not None:
        curves = curves[curves["step"] <= last_step]
    last = curves.dropna(subset=list(TOTAL_COLUMNS.values())).tail(1)
    return {name: float(last[column].iloc[0]) if len(last) else 0.0 for name, column in TOTAL_COLUMNS.items()}
