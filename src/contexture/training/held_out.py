"""Measure the loss on held-out text during a training, and end the training when it no longer falls."""

import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from safetensors.torch import load_model, save_model

from contexture.encoders.base import to_device
from contexture.seeding import mix
from contexture.training.config import HeldOut, PretrainRun
from contexture.training.curves import read_curves
from contexture.training.module import ScheduledObjectives, is_step_end
from contexture.training.prepare import PreparedRun
from contexture.training.recorder import Recorder

LOG = logging.getLogger(__name__)
#: Column of the curves with the weighted sum of the losses.
LOSS_COLUMN = "held_out/loss"
#: Weights with the lowest loss, during a training with `patience`.
BEST_FILE = "best.safetensors"


class HeldOutLoss(pl.Callback):
    """Measure the loss at intervals, before the first step and after the last one, and log it to the curves.

    It is the sum of the losses with the weights of the stage, over the objectives with held-out examples: the same
    examples, masks and dropout at each measurement. With `patience`, save the best weights of the last stage, and end
    the training after so many measurements without a lower loss.
    """

    def __init__(
        self, folder: Path, settings: HeldOut, recipe: PretrainRun, prepared: PreparedRun, recorder: Recorder
    ) -> None:
        self.folder, self.settings, self.recipe, self.prepared = folder, settings, recipe, prepared
        self.recorder = recorder

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Read the losses up to the first step of a resumed run, or measure that of the start."""
        assert isinstance(module, ScheduledObjectives)
        self.losses = {s: loss for s, loss in read_held_out_losses(self.folder).items() if s <= module.first_step}
        if module.step not in self.losses:
            self._measure(trainer, module)

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any) -> None:
        """Measure the loss if this step has a measurement."""
        assert isinstance(module, ScheduledObjectives)
        if is_step_end(trainer) and (module.step % self.settings.evaluate_every == 0 or module.step == module.steps):
            self._measure(trainer, module)

    def _measure(self, trainer: pl.Trainer, module: ScheduledObjectives) -> None:
        started, number = time.perf_counter(), self.recipe.get_stage_number(max(0, module.step - 1))
        with trainer.precision_plugin.val_step_context():
            losses = measure_losses(module, self._list_batches(number), self.recipe.schedule[number].weights)
        self.losses[module.step] = float(trainer.strategy.broadcast(losses[LOSS_COLUMN]))
        for logger in trainer.loggers:
            logger.log_metrics(losses, step=module.step)
        if self.settings.patience is not None:
            self._keep_best(trainer, module, self.settings.patience)
        self.recorder.leave_out(time.perf_counter() - started)

    def _keep_best(self, trainer: pl.Trainer, module: ScheduledObjectives, patience: int) -> None:
        """Save the weights if they are the best of the last stage; end the training if its patience is over."""
        losses = select_last_stage(self.losses, self.recipe)
        if not losses:
            return
        best = find_best_step(losses)
        if best == module.step and trainer.is_global_zero:
            save_model(module, str(self.folder / BEST_FILE))
        if sum(step > best for step in losses) >= patience and module.step < module.steps:
            LOG.info("the held-out loss is lowest at step %d: training ends at step %d", best, module.step)
            trainer.should_stop = True

    def _list_batches(self, number: int) -> Iterator[dict[str, Any]]:
        """Yield the batches `{stream: batch}` of a measurement in a stage."""
        for step in range(self.settings.batches):
            for part in range(self.prepared.passes):
                streams = self.prepared.held_out[number].items()
                yield {name: stream.batch(step, part) for name, stream in streams if part == 0 or stream.can_split}


def measure_losses(
    module: ScheduledObjectives, batches: Iterator[dict[str, Any]], weights: Mapping[str, float]
) -> dict[str, float]:
    """Return the mean loss of each objective over batches, as `held_out/<objective>`, and their weighted sum.

    Dropout is as in training, because some objectives are nothing without it, but always the same.
    """
    values: dict[str, list[float]] = {}
    with torch.no_grad():
        for number, batch in enumerate(batches):
            torch.manual_seed(mix(0, number))  # training seeds each step itself
            generator = torch.Generator(module.device).manual_seed(mix(0, number))
            for name, loss in module.losses(to_device(batch, module.device), weights, generator).items():
                values.setdefault(name, []).append(float(loss.value))
    means = {name: sum(losses) / len(losses) for name, losses in values.items()}
    total = sum(weights[name] * mean for name, mean in means.items())
    return {LOSS_COLUMN: total} | {f"held_out/{name}": mean for name, mean in means.items()}


def read_held_out_losses(folder: Path) -> dict[int, float]:
    """Read step → loss on held-out text of a run; empty if it is not measured."""
    curves = read_curves(folder)
    if LOSS_COLUMN not in curves:
        return {}
    measured = curves.dropna(subset=[LOSS_COLUMN])
    return dict(zip(measured["step"].astype(int).tolist(), measured[LOSS_COLUMN].tolist(), strict=True))


def select_last_stage(losses: Mapping[int, float], recipe: PretrainRun) -> dict[int, float]:
    """Return the losses of the last stage: those of other stages are of other objectives."""
    start = recipe.steps - (recipe.schedule[-1].steps or 0)
    return {step: loss for step, loss in losses.items() if step > start or start == 0}


def find_best_step(losses: Mapping[int, float]) -> int:
    """Return the first step with the lowest loss."""
    return min(losses, key=lambda step: (losses[step], step))


def load_best(module: ScheduledObjectives, folder: Path) -> None:
    """Load the best weights of a run with `patience` into `module`."""
    load_model(module, str(folder / BEST_FILE))


def summarize_held_out(folder: Path, recipe: PretrainRun, keeps_best: bool) -> dict[str, float]:
    """Return `held_out_loss` of the saved weights, their `best_step` if the best are kept, and `held_out_start`.

    Empty if the loss is not measured. `held_out_start` is the loss before the first step, with the first stage's
    weights.
    """
    losses = read_held_out_losses(folder)
    if not losses:
        return {}
    last = find_best_step(select_last_stage(losses, recipe)) if keeps_best else max(losses)
    best = {"best_step": last} if keeps_best else {}
    return {"held_out_loss": losses[last], "held_out_start": losses[0]} | best
